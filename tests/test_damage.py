"""Trace logs as they come: mixed up, cut, torn, and made by someone who wishes no good."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Trace
from hostile import TEXTS, hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_unpack import assert_same

from pgo_advisor.analysis import Analysis, analyze
from pgo_advisor.dynamo.guard_tree import parse_guards
from pgo_advisor.errors import InputError
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.limits import Limits
from pgo_advisor.ingest.locate.archives import Unpacker
from pgo_advisor.ingest.locate.fetch import Local
from pgo_advisor.ingest.locate.paths import Finder
from pgo_advisor.ingest.pgo.text import parse_pgo_text
from pgo_advisor.render.patch import render_sites
from pgo_advisor.tables import Tables

FUZZ = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "fuzz.py"))


def records(log: Path) -> list[bytes]:
    """The records of a log, each with its payload."""
    found: list[bytes] = []
    for line in log.read_bytes().splitlines(keepends=True):
        if line.startswith(b"\t"):
            found[-1] += line
        else:
            found.append(line)
    return found


class TestSeveralProcesses:
    def process(self, log: Path) -> bytes:
        return log.read_bytes().split(b" ")[2]

    def test_two_programs_in_one_file(self, trace: Trace, tmp_path: Path) -> None:
        one, other = (trace("2.13.0", name) for name in ("s01_batch_dim", "s02_batch_and_seq"))
        assert self.process(one) != self.process(other)
        mixed = tmp_path / "mixed.log"
        draw = random.Random(0)
        left = [records(one), records(other)]
        with mixed.open("wb") as file:
            file.write(left[0].pop(0))
            while any(left):
                file.write(draw.choice([queue for queue in left if queue]).pop(0))
        read = ingest([mixed])
        assert_same(read, ingest([one, other]))
        assert [path.name for path in read.logs] == [
            f"mixed.log (process {self.process(log).decode()})" for log in (one, other)
        ]

    def test_a_forked_process_has_the_strings_of_its_parent(
        self, trace: Trace, tmp_path: Path
    ) -> None:
        log = trace("2.13.0", "s01_batch_dim")
        process = self.process(log)
        own = records(log)
        strings = [record for record in own if b'{"str": ' in record]
        rest = [r.replace(b" " + process + b" ", b" 99 ", 1) for r in own if r not in strings]
        forked = tmp_path / "forked.log"
        forked.write_bytes(b"".join([*strings, *rest]))
        compiles = ingest([forked]).tables.compiles
        assert compiles["call_line"].notna().all()
        assert compiles["file"].str.endswith("s01_batch_dim.py").all()


@pytest.mark.parametrize(
    ("name", "junk"),
    [
        ("NULs", b"\0" * 10_000 + b"\n"),
        ("binary", bytes(range(256)) * 40 + b"\n"),
        ("JSON that is no object", b"V1129 12:36:55.772000 4300 torch/x.py:1] [1, 2]\n"),
        ("a number", b"V1129 12:36:55.772000 4300 torch/x.py:1] 7\n"),
        (
            "an unknown record",
            b'V1129 12:36:55.772000 4300 torch/x.py:1] {"of_the_future": {"a": 1}}\n',
        ),
        ("other types", b'V1129 12:36:55.772000 4300 torch/x.py:1] {"describe_tensor": 7}\n'),
        ("the console's", b"W1129 12:36:55.772000 4300 torch/x.py:1] [0/1] hello\n"),
        ("another clock", b'V0101 00:00:00.000000 4300 torch/x.py:1] {"of_the_future": {}}\n'),
        (
            "deep JSON",
            b"V1129 12:36:55.772000 4300 torch/x.py:1] "
            + b'{"a":' * 5000
            + b"1"
            + b"}" * 5000
            + b"\n",
        ),
        ("half a record", b'V1129 12:36:55.772000 4300 torch/x.py:1] {"describe_ten\n'),
        ("a payload of nothing", b"\tpayload\n"),
    ],
)
def test_junk_between_the_records(trace: Trace, tmp_path: Path, name: str, junk: bytes) -> None:
    log = trace("2.13.0", "s01_batch_dim")
    process = log.read_bytes().split(b" ")[2]
    own = records(log)
    torn = tmp_path / "torn.log"
    junk = junk.replace(b" 4300 ", b" " + process + b" ")
    torn.write_bytes(b"".join(own[:20]) + junk + b"".join(own[20:60]) + junk + b"".join(own[60:]))
    compiles = ingest([torn]).tables.compiles
    assert compiles["outcome"].tolist() == ["graph", "graph"]
    assert compiles["call_line"].notna().all()


def test_records_that_come_twice(trace: Trace, tmp_path: Path) -> None:
    log = trace("2.13.0", "s02_batch_and_seq")
    twice = tmp_path / "twice.log"
    twice.write_bytes(
        b"".join(
            record * (1 if b'"dynamo_start"' in record or b'"compilation_metrics"' in record else 2)
            for record in records(log)
        )
    )
    one, other = ingest([twice]).tables, ingest([log]).tables
    assert one.compiles["compile_id"].tolist() == other.compiles["compile_id"].tolist()


def test_without_a_string_table(trace: Trace, tmp_path: Path) -> None:
    own = records(trace("2.13.0", "s01_batch_dim"))
    log = tmp_path / "bare.log"
    log.write_bytes(b"".join(record for record in own if b'{"str": ' not in record))
    compiles = ingest([log]).tables.compiles
    assert compiles["outcome"].tolist() == ["graph", "graph"]


@pytest.mark.slow
def test_a_line_of_many_megabytes(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    shutil.copy(trace("2.13.0", "s01_batch_dim"), log)
    with log.open("ab") as file:
        for _ in range(30):
            file.write(b"x" * 1_000_000)
    assert len(ingest([log]).tables.compiles) == 2


def test_a_file_that_grows(trace: Trace, tmp_path: Path) -> None:
    own = records(trace("2.13.0", "s01_batch_dim"))
    log = tmp_path / "growing.log"
    log.write_bytes(b"".join(own))
    done = threading.Event()

    def grow() -> None:
        with log.open("ab") as file:
            while not done.is_set():
                file.write(own[-1])
                file.flush()
                time.sleep(0.001)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        assert len(ingest([log]).tables.compiles) >= 2
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("name", ["s01_batch_dim", "s20_recompile_limit"])
@pytest.mark.slow
def test_random_cuts_at_the_command_line(trace: Trace, tmp_path: Path, name: str) -> None:
    content = trace("2.15.0", name).read_bytes()
    draw = random.Random(1)
    for _ in range(6):
        log = tmp_path / "cut.log"
        log.write_bytes(content[: draw.randrange(len(content))])
        command = [sys.executable, "-m", "pgo_advisor", "analyze", str(log), "-q"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode in (0, 3), done.stderr
        assert "Traceback" not in done.stderr


def test_directories_that_may_not_be_read(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").mkdir()
    shutil.copy(trace("2.13.0", "s01_batch_dim"), tmp_path / "a.log")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    read = ingest([tmp_path])
    assert len(read.tables.compiles) == 2
    assert any("secret cannot be read: Permission denied" in loss for loss in read.losses)


def test_links_that_go_round(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path)
    with pytest.raises(InputError):
        ingest([tmp_path / "a"])
    with pytest.raises(InputError):
        ingest([tmp_path])
    shutil.copy(trace("2.13.0", "s01_batch_dim"), tmp_path / "a.log")
    assert len(ingest([tmp_path]).tables.compiles) == 2


def test_too_deep_a_directory(trace: Trace, tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a"] * 40)
    deep.mkdir(parents=True)
    shutil.copy(trace("2.13.0", "s01_batch_dim"), deep)
    with pytest.raises(InputError, match="nothing that can be analysed"):
        ingest([tmp_path])


@pytest.mark.slow
def test_hostile_names_pass_through_all_outputs(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_text()
    hostile = (
        "\u202e</script><script>alert(1)</script>](javascript:x)`|@everyone\x1b[2J'; rm -rf ~;'"
    )
    log = tmp_path / "hostile.log"
    log.write_text(content.replace("s01_batch_dim.py", json.dumps(hostile)[1:-1]))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pgo_advisor",
            "analyze",
            str(log),
            "--json",
            str(tmp_path / "a.json"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_recorded_text_cannot_act_in_a_terminal(
    analysis: Callable[[str, str], Analysis], tmp_path: Path
) -> None:
    evil = hostile(analysis("2.13.0", "s10_user_branch"), 4 * len(TEXTS))
    patch = evil.patch(root=tmp_path)
    for text in (evil.to_text(), evil.snippet(), render_sites(patch)):
        acts = {c for c in text if c != "\n" and not c.isprintable()}
        assert acts == set()


def test_a_list_that_does_not_print_is_told_to_be_left_out(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "list.log"
    listed = json.dumps(json.dumps("L['\x1b']")[1:-1])[1:-1]
    empty = '\\"dynamic_sources\\": \\"'
    text = trace("2.13.0", "s01_batch_dim").read_text()
    assert empty in text
    log.write_text(text.replace(empty, empty + listed))
    (loss,) = ingest([log]).losses
    assert "TORCH_COMPILE_DYNAMIC_SOURCES" in loss
    assert "left out" in loss


def test_a_log_cut_within_a_payload_that_is_not_read(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_bytes()
    cut = content.index(b'{"chromium_event": {}', 3000)
    log = tmp_path / "cut.log"
    log.write_bytes(content[: content.index(b"\n\t", cut) + 8])
    assert f"{log}: the log ends within a line" in ingest([log]).losses


@pytest.mark.slow
def test_a_profile_that_is_refused_is_named(trace: Trace, tmp_path: Path) -> None:
    bad = shutil.copy(Path(__file__).parent / "fixtures" / "attacks" / "c.pkl", tmp_path)
    with pytest.raises(InputError, match=f"^{re.escape(str(bad))}: the pickle repeats"):
        ingest([bad])
    (loss,) = ingest([bad, trace("2.13.0", "s01_batch_dim")]).losses
    assert loss.startswith(f"{bad}: not analysed: the pickle repeats")


def test_a_hole_in_a_log(trace: Trace, tmp_path: Path) -> None:
    own = records(trace("2.13.0", "s01_batch_dim"))
    starts = [n for n, record in enumerate(own) if b'{"dynamo_start"' in record]
    log = tmp_path / "hole.log"
    log.write_bytes(b"".join(own[: starts[1]] + own[starts[1] + 1 :]))
    assert ingest([log]).losses == (f"{log}: the beginning of 1 compiles is missing (first: 0/1)",)


def test_logs_of_processes_that_left_nothing_are_named(trace: Trace, tmp_path: Path) -> None:
    logs = [tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log" for rank in range(3)]
    shutil.copy(trace("2.13.0", "s01_batch_dim"), logs[0])
    logs[1].touch()
    logs[2].write_bytes(bytes(100))
    (tmp_path / "notes.txt").write_text("nothing to be read")
    assert ingest([tmp_path]).losses == (
        f"{logs[1]} is empty: nothing is known of that process",
        f"{logs[2]} holds no record: nothing is known of that process",
    )
    # given by name, they are no reason to leave out the others
    read = ingest(logs)
    assert len(read.tables.compiles) == 2
    assert [loss.split(";")[0] for loss in read.losses] == [
        f"{logs[1]} is empty",
        f"{logs[2]} is nothing that can be analysed",
    ]
    with pytest.raises(InputError, match="does not exist"):
        ingest([*logs, tmp_path / "none"])
    with pytest.raises(InputError, match=r"rank_1_x\.log is empty"):
        ingest(logs[1:])


class TestDeletedMeanwhile:
    @pytest.fixture
    def logs(self, trace: Trace, tmp_path: Path) -> list[Path]:
        logs = [tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log" for rank in range(2)]
        for log, name in zip(logs, ("s01_batch_dim", "s02_batch_and_seq"), strict=True):
            shutil.copy(trace("2.13.0", name), log)
        return logs

    def test_a_log_that_was_found(self, logs: list[Path], tmp_path: Path) -> None:
        read = ingest([tmp_path], progress=lambda done, total: logs[1].unlink(missing_ok=True))
        assert_same(read, ingest(logs[:1]))
        [loss] = read.losses
        assert (
            loss == f"{logs[1]}: not analysed: {logs[1]} cannot be read: No such file or directory"
        )

    def test_a_log_while_others_are_searched_for(self, logs: list[Path], tmp_path: Path) -> None:
        def places() -> Iterator[Local]:
            yield Local(tmp_path, tmp_path)
            logs[1].unlink()

        unpacker = Unpacker(tmp_path / "unpacked", Limits())
        assert [item.path for item in Finder(unpacker).find(places())] == logs


def test_a_damaged_archive_beside_a_log(trace: Trace, tmp_path: Path) -> None:
    log, archive = trace("2.13.0", "s01_batch_dim"), tmp_path / "other.log.gz"
    archive.write_bytes(gzip.compress(log.read_bytes())[:20])
    read = ingest([log, archive])
    assert_same(read, ingest([log]))
    [loss] = read.losses
    assert loss.startswith(f"{archive}")


def test_records_of_more_processes_than_are_kept(trace: Trace, tmp_path: Path) -> None:
    log, crowd = trace("2.13.0", "s01_batch_dim"), tmp_path / "crowd.log"
    line = b'V1101 10:00:00.000000 %d torch/_logging/_internal.py:1] {"artifact": {"name": "x"}}\n'
    crowd.write_bytes(b"".join(line % number for number in range(1, 257)) + log.read_bytes())
    number = len(records(log))
    with pytest.raises(InputError, match=f"{number} records are of further processes"):
        ingest([crowd])


def test_a_clock_that_was_set_back(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = trace("2.13.0", "s01_batch_dim").read_text()
    times = r'"(duration_us|entire_frame_compile_time_s)": [\d.]+'
    log.write_text(re.sub(times, r'"\1": -1000', text))
    analysis = analyze(log)
    assert analysis.totals.seconds == 0
    assert " ? " in analysis.to_text()
    analysis.to_html()


def test_numbers_and_texts_that_no_table_holds() -> None:
    row = {"rank": 1 << 64, "name": "\ud800", "log": 0}
    tables = Tables.from_rows({"compiles": [row], "inputs": [{"size": (3, 1 << 64, None)}]})
    assert tables.compiles["rank"].isna().all()
    assert tables.compiles["name"].tolist() == ["?"]
    assert tables.inputs["size"].tolist() == [(3, None, None)]


@pytest.mark.parametrize("digits", [19, 5000])
def test_numbers_that_are_no_sizes(digits: int) -> None:
    number = "9" * digits
    tree = parse_guards(
        "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- GuardManager: source=L['x'], accessed_by=A\n"
        f"| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, "
        f"requires_grad=False, size=[{number}, 3], stride=[3, 1])\n"
        f"| | +- DIMENSION_DYNAMIC_MARKING_GUARD: L['x']._dynamo_dynamic_indices.issubset({{{number}, 1}})"
        "  # '_dynamo_dynamic_indices'\n"
    )
    assert [tensor.size for tensor in tree.tensors] == [(None, 3)]
    code = f"hash(ab)/a.py:{number}:f:\n"
    entry = f"  L['x']: tensor size=[{number}, 4] stride=[4, 1]\n"
    assert parse_pgo_text(code + entry) == []
    [row] = parse_pgo_text("hash(ab)/a.py:3:f:\n" + entry)
    assert row["size"] == (None, 4)


def test_strides_of_other_dims_than_sizes(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "strides.log"
    log.write_text(
        trace("2.13.0", "s01_batch_dim").read_text().replace('"stride": [', '"stride": [7, ', 1)
    )
    analysis = analyze(log)
    assert analysis.losses == (f"{log}: 1 records could not be read",)
    assert len(analysis.tables.compiles) == 2


def test_dims_that_a_tensor_lacks(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "dims.log"
    text = trace("2.13.0", "s01_batch_dim").read_text()
    log.write_text(text.replace(".size()[0]", ".size()[9]"))
    inputs = analyze(log).tables.inputs
    assert all(
        dim < len(size)
        for size, dims in zip(inputs["size"], inputs["symbolic_dims"], strict=True)
        for dim in dims
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_fields_that_disagree(trace: Trace, tmp_path: Path, draw: random.Random) -> None:
    name = draw.choice(["s01_batch_dim", "s02_batch_and_seq", "s10_user_branch"])
    log = tmp_path / "fields.log"
    log.write_bytes(FUZZ["disagreeing"](trace("2.13.0", name).read_bytes(), draw))
    assert FUZZ["run"](log)
