"""From paths to tables. The expected values are read off the programs in tests/scenarios."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import TESTS, Trace, recorded

from pgo_advisor.errors import InputError, OutputError, TlparseError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.trace import tlparse
from pgo_advisor.tables import COLUMNS, INTS, Tables


def test_tables_of_a_module_with_two_varying_dims(trace: Trace) -> None:
    # s02: (2, 8), (2, 12), (4, 12), then two sizes that the third graph takes
    tables = ingest([trace("2.13.0", "s02_batch_and_seq")]).tables
    compiles = tables.compiles
    assert compiles["compile_id"].tolist() == ["0/0", "0/1", "0/2"]
    assert set(compiles["name"]) == {"forward"}
    assert set(compiles["outcome"]) == {"graph"}
    assert set(compiles["torch_version"]) == {"2.13.0+cpu"}
    assert compiles["call_line"].tolist() == [13, 13, 13]
    assert compiles["call_code"].tolist() == ["m(ids, torch.ones(b, s))"] * 3
    assert (compiles["seconds"] > 0).all()
    ids = tables.inputs[tables.inputs["source"] == "L['ids']"]
    assert ids["size"].tolist() == [(2, 8), (2, 12), (4, 12)]
    assert ids["stride"].tolist() == [(8, 1), (12, 1), (12, 1)]
    assert ids["symbolic_dims"].tolist() == [(), (1,), (0, 1)]
    weight = tables.inputs[
        tables.inputs["source"].str.endswith("_modules['lin']._parameters['weight']")
    ]
    assert weight["is_parameter"].tolist() == [True] * 3
    failures = tables.guard_failures
    assert failures[["compile", "order", "against", "dim"]].values.tolist() == [
        [1, 0, 0, 1],
        [2, 0, 1, 0],
        [2, 1, 0, 0],
    ]
    installed = tables.shape_guards[tables.shape_guards["installed"]]
    assert "L['mask'].size()[1] == L['ids'].size()[1]" in set(installed["guard"])
    last = tables.pgo_entries.iloc[-1]
    assert (last["source"], last["size"]) == ("L['mask']", (None, None))


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_every_column_has_its_type(trace: Trace, version: str) -> None:
    tables = ingest([trace(version, "s07_graph_break_resume")]).tables
    for name, frame in tables:
        assert list(frame.columns) == list(COLUMNS[name])
        for column, told in COLUMNS[name].items():
            expected = "object" if told.dtype == INTS else told.dtype
            assert frame[column].dtype == expected, (name, column)
    breaks = tables.graph_breaks
    assert set(breaks["reason"]) == {"Call to `torch._dynamo.graph_break()`"}
    assert set(breaks["user_line"]) == {7, 9}


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_call_sites(trace: Trace, version: str) -> None:
    # s06: a function compiled directly, whose true caller dynamo_start lacks since 2.8
    compiles = ingest([trace(version, "s06_wrapper_args")]).tables.compiles
    assert set(compiles["call_line"]) == {12}
    assert not compiles["called_from_compiled"].any()
    # s07: resume functions are called from compiled code
    compiles = ingest([trace(version, "s07_graph_break_resume")]).tables.compiles
    resumed = compiles["name"].str.startswith("torch_dynamo_resume_in_f")
    assert compiles["called_from_compiled"].fillna(False).tolist() == resumed.tolist()


def test_the_compile_that_hits_the_limit(trace: Trace) -> None:
    compiles = ingest([trace("2.15.0", "s20_recompile_limit")]).tables.compiles
    assert compiles["outcome"].tolist() == ["graph"] * 8 + ["limit"]
    assert set(compiles["name"]) == {"<lambda>"}
    assert set(compiles["dynamic"].dropna()) == {"false"}


def test_ranks_are_one_job(trace: Trace) -> None:
    read = ingest([trace("2.13.0", "m01_two_ranks")])
    compiles = read.tables.compiles
    assert compiles["rank"].tolist() == [0, 1, 1]
    assert compiles["compile"].tolist() == [0, 1, 2]
    assert compiles["frame"].tolist() == [0, 1, 1]
    for _, frame in read.tables:
        assert frame["rank"].isin([0, 1]).all()


def test_what_tlparse_wrote_gives_the_same_as_the_log(trace: Trace, tmp_path: Path) -> None:
    log = trace("2.13.0", "s10_user_branch")
    tlparse.run_tlparse(log, tmp_path / "out", timeout=60)
    for path in (tmp_path / "out", tmp_path / "out" / "index.html", tmp_path / "out" / "raw.jsonl"):
        assert_same(ingest([path]).tables, ingest([log]).tables)


def test_all_ranks_output_of_tlparse(trace: Trace, tmp_path: Path) -> None:
    logs = trace("2.13.0", "m01_two_ranks")
    command = [
        str(tlparse.find_tlparse()),
        "--all-ranks-html",
        str(logs),
        "-o",
        str(tmp_path / "out"),
        "--no-browser",
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert ingest([tmp_path / "out"]).tables.compiles["rank"].tolist() == [0, 1, 1]


def test_a_path_given_twice_counts_once(trace: Trace) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    assert len(ingest([log, log.parent, log]).tables.compiles) == 2


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_parquet_reads_back_identical(trace: Trace, tmp_path: Path, version: str) -> None:
    for name in recorded(version):
        tables = ingest([trace(version, name)]).tables
        tables.to_parquet(tmp_path / name)
        assert_same(Tables.from_parquet(tmp_path / name), tables)


def test_parquet_does_not_overwrite(trace: Trace, tmp_path: Path) -> None:
    tables = ingest([trace("2.13.0", "s01_batch_dim")]).tables
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError):
        tables.to_parquet(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def assert_same(one: Tables, other: Tables) -> None:
    for (name, first), (_, second) in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(first, second, obj=name)


class TestDamage:
    @pytest.mark.slow
    def test_a_log_cut_at_any_record_keeps_what_is_complete(
        self, trace: Trace, tmp_path: Path
    ) -> None:
        content = trace("2.13.0", "s01_batch_dim").read_bytes()
        metrics = [
            content.index(b'{"compilation_metrics"'),
            content.rindex(b'{"compilation_metrics"'),
        ]
        ends = [content.index(b"\nV", start) for start in metrics if b"\nV" in content[start:]]
        complete = [sum(end < cut for end in ends) for cut in range(0, len(content), 5003)]
        log = tmp_path / "cut.log"
        for cut, finished in zip(range(0, len(content), 5003), complete, strict=True):
            log.write_bytes(content[:cut])
            if cut == 0:
                continue
            outcomes = ingest([log]).tables.compiles["outcome"].tolist()
            assert outcomes.count("graph") >= finished

    def test_a_cut_log_says_so(self, trace: Trace, tmp_path: Path) -> None:
        content = trace("2.13.0", "s02_batch_and_seq").read_bytes()
        log = tmp_path / "cut.log"
        log.write_bytes(content[:100_000])
        read = ingest([log])
        assert read.tables.compiles["outcome"].tolist() == ["graph", "unknown"]
        assert any("the log ends before 1 of 2 compiles" in loss for loss in read.losses)

    def test_bytes_that_are_no_utf8(self, trace: Trace, tmp_path: Path) -> None:
        log = tmp_path / "bad.log"
        log.write_bytes(trace("2.13.0", "s01_batch_dim").read_bytes() + b"V1129 \xff\xfe\n")
        read = ingest([log])
        assert len(read.tables.compiles) == 2
        assert any("1 lines are neither records" in loss for loss in read.losses)

    def test_one_bad_log_does_not_lose_the_others(self, trace: Trace, tmp_path: Path) -> None:
        directory = tmp_path / "job"
        shutil.copytree(trace("2.13.0", "m01_two_ranks"), directory)
        (directory / "dedicated_log_torch_trace_rank_2_abc.log").write_text(
            'V1129 12:36:55.772000 4314 torch/x.py:1] {"no": json\n'
        )
        read = ingest([directory])
        assert len(read.tables.compiles) == 3
        assert read.losses

    def test_ids_that_come_again_after_a_reset(self, trace: Trace, tmp_path: Path) -> None:
        content = trace("2.13.0", "s01_batch_dim").read_bytes()
        log = tmp_path / "twice.log"
        log.write_bytes(content + content)
        compiles = ingest([log]).tables.compiles
        assert compiles["compile_id"].tolist() == ["0/0", "0/1", "0/0", "0/1"]
        assert compiles["generation"].tolist() == [0, 0, 1, 1]
        assert compiles["frame"].nunique() == 2


class TestErrors:
    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"", "is empty"),
            (b"hello\n", "is nothing that can be analysed"),
            (b"\x1f\x8b\x08\x00" + b"\0" * 20, "cannot be unpacked (gzip)"),
            (b"\0" * 5000, "is nothing that can be analysed"),
        ],
    )
    def test_files_that_are_nothing_we_know(
        self, tmp_path: Path, content: bytes, told: str
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(InputError, match="file") as error:
            ingest([path])
        assert told in str(error.value)

    def test_a_path_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="does not exist"):
            ingest([tmp_path / "nowhere"])

    def test_an_empty_directory(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="it is empty"):
            ingest([tmp_path])

    def test_links_that_go_round(self, tmp_path: Path) -> None:
        (tmp_path / "self").symlink_to(tmp_path)
        with pytest.raises(InputError, match="nothing that can be analysed"):
            ingest([tmp_path])

    def fake_tlparse(self, monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
        program = folder / "tlparse"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr("sysconfig.get_path", lambda name: str(folder))
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        tlparse.find_tlparse.cache_clear()

    @pytest.fixture(autouse=True)
    def forget_the_fake(self) -> object:
        yield
        tlparse.find_tlparse.cache_clear()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("script", "told"),
        [
            ("echo tlparse 0.3.40", "too old"),
            ("exit 3", "did not tell its version"),
            ("yes", "stopped after"),
            ("yes >&2 & sleep 60", "stopped after"),
            (
                'test "$1" = --version && echo tlparse 0.4.3 && exit 0; echo boom >&2; exit 101',
                "boom",
            ),
            (
                'test "$1" = --version && echo tlparse 0.4.3 && exit 0; sleep 30',
                "was stopped after 1 s",
            ),
            ('test "$1" = --version && echo tlparse 0.4.3; exit 0', "wrote no raw.jsonl"),
        ],
    )
    def test_a_tlparse_that_does_not_work(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Trace, script: str, told: str
    ) -> None:
        self.fake_tlparse(monkeypatch, tmp_path, script)
        monkeypatch.setattr(tlparse, "_VERSION_TIMEOUT", 1)
        with pytest.raises(TlparseError) as error:
            ingest([trace("2.13.0", "s01_batch_dim")], timeout=1)
        assert told in str(error.value)

    @pytest.mark.slow
    @pytest.mark.parametrize("ending", ["wait", "exit 1"])
    def test_what_a_tlparse_starts_ends_with_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Trace, ending: str
    ) -> None:
        answer = 'test "$1" = --version && echo tlparse 0.4.3 && exit 0'
        child = tmp_path / "child"
        script = f"{answer}; sleep 300 & echo $! > {child}; {ending}"
        self.fake_tlparse(monkeypatch, tmp_path, script)
        with pytest.raises(TlparseError):
            ingest([trace("2.13.0", "s01_batch_dim")], timeout=1)
        status = Path(f"/proc/{child.read_text().strip()}/status")
        assert not status.exists() or "State:\tZ" in status.read_text()

    def test_no_tlparse(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Trace
    ) -> None:
        monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
        monkeypatch.setenv("PATH", str(tmp_path))
        tlparse.find_tlparse.cache_clear()
        with pytest.raises(TlparseError, match="pip install"):
            ingest([trace("2.13.0", "s01_batch_dim")])


def test_no_temporary_directory_stays(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ingest([trace("2.13.0", "s01_batch_dim")])
    assert list(tmp_path.iterdir()) == []


def test_what_tlparse_wrote_is_kept_on_request(trace: Trace, tmp_path: Path) -> None:
    ingest([trace("2.13.0", "s01_batch_dim")], full=tmp_path / "kept")
    assert (tmp_path / "kept" / "log_0" / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(
    trace: Trace, tmp_path: Path, number: signal.Signals
) -> None:
    bin_, scratch = tmp_path / "bin", tmp_path / "scratch"
    bin_.mkdir()
    scratch.mkdir()
    slow = bin_ / "tlparse"
    slow.write_text('#!/bin/sh\ntest "$1" = --version && echo tlparse 0.4.3 || exec sleep 60\n')
    slow.chmod(0o755)
    code = (
        f"import sysconfig; sysconfig.get_path = lambda name: {str(bin_)!r}\n"
        f"from pgo_advisor.cli import main; main(['analyze', {str(trace('2.13.0', 's01_batch_dim'))!r}])"
    )
    environment = {**os.environ, "TMPDIR": str(scratch)}
    # under nohup, hanging up is ignored, and a child would inherit that
    default = "default_int_handler" if number is signal.SIGINT else "SIG_DFL"
    code = f"import signal; signal.signal({int(number)}, signal.{default})\n{code}"
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as running:
        while running.poll() is None and not list(scratch.iterdir()):
            time.sleep(0.05)
        time.sleep(0.3)
        running.send_signal(number)
        assert running.wait(10) == 128 + number
    assert list(scratch.iterdir()) == []
    assert (
        b"sleep"
        not in subprocess.run(
            ["ps", "-o", "args", "--ppid", str(running.pid)], capture_output=True
        ).stdout
    )


def test_reports_of_tlparse_need_a_trace(tmp_path: Path) -> None:
    profile = TESTS / "fixtures" / "pgo" / "2.13.0" / "code_state_s02_batch_and_seq_None_.pkl"
    read = ingest([profile], full=tmp_path / "kept")
    assert "No log of a trace is here" in " ".join(read.notes)
    assert not (tmp_path / "kept").exists()
