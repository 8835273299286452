"""What the prefilter leaves out changes nothing; how it cuts a log is compared with a plain reading of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Trace, recorded
from hypothesis import given
from hypothesis import strategies as st

from pgo_advisor.ingest import prefilter as module
from pgo_advisor.ingest.prefilter import prefilter
from pgo_advisor.ingest.records import READ_ARTIFACTS, READ_KINDS
from pgo_advisor.ingest.rows import LogRows, read_log
from pgo_advisor.ingest.tlparse import run_tlparse

KIND = re.compile(rb'\] \{"(\w+)"(?:: \{"name": "(\w+)")?')


def logs(path: Path) -> list[Path]:
    return sorted(path.glob("*.log")) if path.is_dir() else [path]


def read(parts: list[Path], directory: Path) -> LogRows:
    outputs = []
    for number, part in enumerate(parts):
        outputs.append(directory / str(number))
        run_tlparse(part, outputs[-1], timeout=60)
    return read_log(*outputs)


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_with_and_without_it_a_log_gives_the_same(
    trace: Trace, tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 20_000)
    monkeypatch.setattr(module, "_BLOCK", 50_000)
    apart = 0
    for name in recorded(version):
        for log in logs(trace(version, name)):
            folder = tmp_path / name / log.stem
            folder.mkdir(parents=True)
            filtered = prefilter(log, folder / "parts")
            (process,) = filtered.processes
            assert filtered.losses == ()
            apart += len(process.parts) > 2
            (folder / "whole").mkdir()
            (folder / "pieces").mkdir()
            assert read(list(process.parts), folder / "pieces") == read([log], folder / "whole")
    assert apart > 5


def test_only_what_is_read_is_kept_as_it_was(trace: Trace, tmp_path: Path) -> None:
    log = trace("2.13.0", "s24_seedseq_inductor")
    (process,) = prefilter(log, tmp_path / "parts").processes
    (part,) = process.parts
    pieces = re.split(rb"(?m)^(?=[VIWEC]\d{4} )", log.read_bytes())[1:]
    wanted = []
    for number, piece in enumerate(pieces, 1):
        kind = KIND.search(piece)
        assert kind is not None
        if kind[1] == b"artifact":
            keep = (kind[2] or b"").decode() in READ_ARTIFACTS
        else:
            keep = kind[1] == b"str" or kind[1].decode() in READ_KINDS
        if keep:
            wanted.append(re.sub(rb"\.py:\d+\] ", b".py:%d] " % number, piece, count=1))
    assert 0 < len(wanted) < len(pieces) / 3
    assert part.read_bytes() == b"".join(wanted)


def lines(content: bytes) -> Iterator[bytes]:
    """Each line that does not begin with a tab, with all that do after it."""
    piece = b""
    for line in re.findall(rb"[^\n]*\n|[^\n]+$", content):
        if piece and not line.startswith(b"\t"):
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece


texts = st.lists(
    st.sampled_from(
        [b"\n", b"\t", b"\n\t", b"a", b"V0101 b", "é".encode(), b"\xff", b"\n\n", b"c" * 40]
    )
).map(b"".join)


@given(texts, st.integers(1, 30), st.integers(1, 20))
def test_segments_are_the_lines_with_their_payloads(
    content: bytes, block: int, header: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        patch.setattr(module, "_HEADER", header)
        found: list[bytes] = []
        for begins, piece in module._segments(io.BytesIO(content), len(content)):
            if begins:
                found.append(b"")
                rest = content[len(b"".join(found)) :]
                assert len(piece) >= min(header, len(next(lines(rest))))
            found[-1] += piece
    assert found == list(lines(content))


def record(kind: str, process: int = 7, payload: str = "") -> bytes:
    text = f'V0101 00:00:00.000 {process} torch/x.py:1] {{"{kind}": {{}}, "frame_id": 0}}\n'
    return (text + "".join(f"\t{line}\n" for line in payload.splitlines())).encode()


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        record("dynamo_start")
        + b"Epoch 1: loss 0.3\n"
        + record("describe_source", payload="caf\u00e9").replace("é".encode(), b"\xe9")
        + record("chromium_event", payload="x")
    )
    filtered = prefilter(log, tmp_path / "parts")
    assert filtered.losses == (
        "1 lines are not UTF-8 and were read with replacement characters",
        "1 lines are neither records nor payloads and were left out",
    )
    (process,) = filtered.processes
    kept = process.parts[0].read_text("utf-8")
    assert "Epoch" not in kept
    assert "chromium" not in kept
    assert "\tcaf\ufffd\n" in kept


def test_a_line_that_is_no_record_and_longer_than_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", 64)
    monkeypatch.setattr(module, "_HEADER", 200)
    own = [record("dynamo_start", payload=f"payload {number}") for number in range(3)]
    junk = b"x" * 3000 + b"\n"
    log = tmp_path / "log"
    log.write_bytes(
        own[0] + junk + own[1] + junk + b"\tpayload that goes on\n" + own[2] + junk[:-1]
    )
    filtered = prefilter(log, tmp_path / "parts")
    (part,) = filtered.processes[0].parts
    kept = re.sub(rb"py:\d+\]", b"py:1]", part.read_bytes())
    assert kept == own[0] + own[1] + b"\tpayload that goes on\n" + own[2]
    assert filtered.losses == (
        "the log ends within a line",
        "3 lines are neither records nor payloads and were left out",
    )


def test_processes_come_in_the_order_of_their_first_records(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        record("chromium_event", process=2)
        + record("dynamo_start", process=1)
        + record("chromium_event", process=3)
        + record("dynamo_start", process=2)
    )
    filtered = prefilter(log, tmp_path / "parts")
    assert [process.id for process in filtered.processes] == ["2", "1"]


def test_every_part_has_the_strings_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 100)
    log = tmp_path / "log"
    string = b'V0101 00:00:00.000 7 torch/x.py:1] {"str": ["/app/%s.py", %d]}\n'
    log.write_bytes(
        string % (b"a", 0)
        + record("dynamo_start", payload="x" * 200)
        + string % (b"b", 1)
        + record("dynamo_start", payload="x" * 200)
        + record("dynamo_start")
    )
    (process,) = prefilter(log, tmp_path / "parts").processes
    strings = [
        [
            json.loads(line.partition("] ")[2])["str"]
            for line in part.read_text().splitlines()
            if '"str"' in line
        ]
        for part in process.parts
    ]
    assert strings == [
        [["/app/a.py", 0]],
        [["/app/a.py", 0], ["/app/b.py", 1]],
        [["/app/a.py", 0], ["/app/b.py", 1]],
    ]
