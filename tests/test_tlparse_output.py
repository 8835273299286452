"""What tlparse wrote, with and without -p, of older releases, and with parts missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Trace
from test_unpack import assert_same

import pgo_advisor
from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.trace.tlparse import find_tlparse


@pytest.fixture(params=[[], ["-p"]])
def output(request: pytest.FixtureRequest, trace: Trace, tmp_path: Path) -> Path:
    log = trace("2.13.0", "s02_batch_and_seq")
    command = [find_tlparse(), log, "-o", tmp_path / "out", "--no-browser", *request.param]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path / "out"


def test_older_releases_write_no_raw_jsonl(output: Path, trace: Trace) -> None:
    (output / "raw.jsonl").unlink()
    assert_same(ingest([output]), ingest([trace("2.13.0", "s02_batch_and_seq")]))


def test_folders_of_compiles_alone(output: Path, trace: Trace) -> None:
    for name in ("raw.jsonl", "raw.log"):
        (output / name).unlink()
    analysis = pgo_advisor.analyze(output, torch_version="2.13")
    tables = analysis.tables
    assert tables.compiles["compile_id"].tolist() == ["0/0", "0/1", "0/2"]
    assert tables.guard_failures["against"].tolist() == [0, 1, 0]
    assert any("neither raw.jsonl nor raw.log" in loss for loss in analysis.losses)
    # its profile knows what the reasons do not
    whole = pgo_advisor.analyze(trace("2.13.0", "s02_batch_and_seq"))
    assert set(analysis.dynamic_sources.split(",")) == set(whole.dynamic_sources.split(","))


def test_payloads_that_are_missing(output: Path) -> None:
    shutil.rmtree(output / "-_0_1_0")
    read = ingest([output])
    assert len(read.tables.compiles) == 3
    assert any("payloads" in loss for loss in read.losses)


def test_nothing_but_pages(output: Path) -> None:
    for path in output.iterdir():
        if path.suffix != ".html":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match="nothing that can be analysed"):
        ingest([output])


def guards(output: Path) -> Path:
    return next(output.glob("-_0_0_0/dynamo_cpp_guards_str*"))


def test_a_payload_that_is_a_pipe(output: Path) -> None:
    payload = guards(output)
    payload.unlink()
    os.mkfifo(payload)
    assert f"{output}: the payloads of 1 records are missing" in ingest([output]).losses


def test_a_payload_that_many_records_name_is_read_once(output: Path) -> None:
    name = str(guards(output).relative_to(output))
    raw = output / "raw.jsonl"
    [record] = [line for line in raw.read_text().splitlines() if f'"{name}"' in line]
    with raw.open("a") as file:
        file.write(f"{record}\n" * 3000)
    read = ingest([output])
    assert f"{output}: the payloads of 3000 records are missing" in read.losses


@pytest.mark.slow
def test_files_with_holes_of_gigabytes(output: Path) -> None:
    os.truncate(guards(output), 6 << 30)
    os.truncate(output / "raw.jsonl", 6 << 30)
    read = ingest([output])
    assert len(read.tables.compiles) == 3
    assert f"{output}: the payloads of 1 records are missing" in read.losses
    assert f"{output}: 1 records could not be read" in read.losses
