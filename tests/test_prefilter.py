"""What the prefilter leaves out changes nothing; how it cuts a log is compared with a plain reading of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import Trace, recorded
from hypothesis import given
from hypothesis import strategies as st

from pgo_advisor.ingest.rows import LogRows
from pgo_advisor.ingest.trace import prefilter as module
from pgo_advisor.ingest.trace.collect import read_output, read_parts
from pgo_advisor.ingest.trace.prefilter import Prefilter, place
from pgo_advisor.ingest.trace.records import READ_ARTIFACTS, READ_KINDS, Metrics, StackFrame
from pgo_advisor.ingest.trace.rows import log_rows
from pgo_advisor.ingest.trace.tlparse import run_tlparse

KIND = re.compile(rb'\] \{"(\w+)"(?:: \{"name": "(\w+)")?')


def logs(path: Path) -> list[Path]:
    return sorted(path.glob("*.log")) if path.is_dir() else [path]


def filtered(logs: Sequence[Path], directory: Path) -> tuple[Prefilter, list[Path]]:
    prefilter = Prefilter(logs, directory)
    return prefilter, list(prefilter.parts())


def read_whole(log: Path, directory: Path) -> LogRows:
    run_tlparse(log, directory, timeout=60)
    return log_rows(read_output(directory))


def read_filtered(logs: Sequence[Path], directory: Path) -> list[LogRows]:
    """Of each process that compiled."""
    prefilter, parts = filtered(logs, directory / "parts")
    assert prefilter.losses == [[]] * len(logs)
    outputs = []
    for part in parts:
        outputs.append(directory / part.stem)
        run_tlparse(part, outputs[-1], timeout=60)
    return [log_rows(each) for each in read_parts(outputs, prefilter) if each.compiles]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_with_and_without_it_a_log_gives_the_same(
    trace: Trace, tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 20_000)
    monkeypatch.setattr(module, "_BLOCK", 50_000)
    cut = 0
    for name in recorded(version):
        for log in logs(trace(version, name)):
            folder = tmp_path / name / log.stem
            folder.mkdir(parents=True)
            (rows,) = read_filtered([log], folder)
            assert rows == read_whole(log, folder / "whole")
            cut += len(list(folder.glob("parts/kept_*"))) > 1
    assert cut > 5


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_logs_that_are_read_together_give_what_each_gives_alone(
    trace: Trace, tmp_path: Path, version: str
) -> None:
    all_logs = [log for name in recorded(version) for log in logs(trace(version, name))]
    together = read_filtered(all_logs, tmp_path)
    assert len(together) == len(all_logs)
    assert {rows.rank for rows in together} > {0, 1}
    for number, log in enumerate(all_logs):
        assert together[number] == read_whole(log, tmp_path / str(number)), log


def test_only_what_is_read_is_kept_as_it_was(trace: Trace, tmp_path: Path) -> None:
    log = trace("2.13.0", "s24_seedseq_inductor")
    _, parts = filtered([log], tmp_path / "parts")
    pieces = re.split(rb"(?m)^(?=[VIWEC]\d{4} )", log.read_bytes())[1:]
    wanted: list[bytes] = []
    apart: list[bytes] = []
    for number, piece in enumerate(pieces, 1):
        kind = KIND.search(piece)
        assert kind is not None
        if kind[1] == b"artifact":
            keep = (kind[2] or b"").decode() in READ_ARTIFACTS
        else:
            keep = kind[1].decode() in READ_KINDS
        if keep:
            to = apart if kind[1].endswith(b"compilation_metrics") else wanted
            to.append(re.sub(rb"\.py:\d+\] ", b".py:%d] " % number, piece, count=1))
    assert 0 < len(wanted) < len(pieces) / 3
    assert [part.name for part in parts] == ["kept_0.log", "apart_0.log"]
    assert parts[0].read_bytes() == b"".join(wanted)
    numbers = {b"compiler": b"0", b"dynamo": b"1", b"inductor": b"2", b"functorch": b"3"}
    for name, digit in numbers.items():
        config = rb'("%s_config": )"(?:[^"\\]|\\.)*"' % name
        replaced = [re.subn(config, rb'\1"@%s"' % digit, each) for each in apart]
        assert all(found == 1 for _, found in replaced)
        apart = [each for each, _ in replaced]
    assert parts[1].read_bytes() == b"".join(apart)


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
        for piece, begins in module._segments(io.BytesIO(content), len(content)):
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
    prefilter, (part,) = filtered([log], tmp_path / "parts")
    assert prefilter.losses == [
        [
            "1 lines are not UTF-8 and were read with replacement characters",
            "1 lines are neither records nor payloads and were left out",
        ]
    ]
    kept = part.read_text("utf-8")
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
    prefilter, (part,) = filtered([log], tmp_path / "parts")
    kept = re.sub(rb"py:\d+\]", b"py:1]", part.read_bytes())
    assert kept == own[0] + own[1] + b"\tpayload that goes on\n" + own[2]
    assert prefilter.losses == [
        [
            "the log ends within a line",
            "3 lines are neither records nor payloads and were left out",
        ]
    ]


def test_processes_come_in_the_order_of_their_first_records(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        record("chromium_event", process=2)
        + record("dynamo_start", process=1)
        + record("chromium_event", process=3)
        + record("dynamo_start", process=2)
    )
    prefilter, _ = filtered([log], tmp_path / "parts")
    assert [process.id for process in prefilter.processes] == ["2", "1", "3"]


METRICS = (
    'V0101 00:00:00.000000 7 torch/x.py:1] {{"compilation_metrics": {{{}}}, '
    '"frame_id": {}, "frame_compile_id": 0}}\n'
)


def metrics(directory: Path, given: list[dict[str, str]]) -> tuple[list[Metrics], str]:
    """What is read of metrics with the given JSON texts, and what tlparse read."""
    log = directory / "log"
    log.write_bytes(
        "".join(
            METRICS.format(", ".join(f'"{name}": {text}' for name, text in each.items()), number)
            for number, each in enumerate(given)
        ).encode("latin-1")
    )
    prefilter, parts = filtered([log], directory / "parts")
    for part in parts:
        run_tlparse(part, directory / part.stem, timeout=60)
    (records,) = read_parts([directory / part.stem for part in parts], prefilter)
    return (
        [compile_.metrics for compile_ in records.compiles if compile_.metrics],
        "".join(part.read_text() for part in parts),
    )


ONE, OTHER = r'"{\"a\": \"\\\\\"}"', r'"{\"a\": 1}"'


@pytest.mark.parametrize("size", [200, 8 << 20])
def test_each_configuration_is_written_down_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(module, "_PART", size)
    given = [
        {"dynamo_config": ONE, "inductor_config": OTHER, "co_name": '"f"'},
        {"dynamo_config": ONE, "inductor_config": OTHER},
        {"dynamo_config": OTHER, "inductor_config": ONE},
        {"dynamo_config": OTHER, "inductor_config": '""'},
        {"co_name": '"g"'},
        {"dynamo_config": '"@0"', "inductor_config": "null"},
        {"dynamo_config": ONE, "inductor_config": OTHER},
    ]
    found, kept = metrics(tmp_path, given)
    assert [(each.dynamo_config, each.inductor_config) for each in found] == [
        tuple(json.loads(each.get(f"{name}_config", "null")) for name in ("dynamo", "inductor"))
        for each in given
    ]
    assert ONE not in kept
    assert OTHER not in kept


def test_metrics_that_are_lost_take_no_configuration_with_them(tmp_path: Path) -> None:
    given = [
        {"dynamo_config": ONE},
        {"dynamo_config": OTHER, "inductor_config": ONE, "co_name": '"\0"'},
        {"dynamo_config": OTHER, "inductor_config": ONE},
    ]
    found, _ = metrics(tmp_path, given)
    assert [(each.dynamo_config, each.inductor_config) for each in found] == [
        (json.loads(ONE), None),
        (json.loads(OTHER), json.loads(ONE)),
    ]


def test_a_configuration_that_looks_like_the_number_of_one(tmp_path: Path) -> None:
    # without the space it is not found, and so not replaced
    log = tmp_path / "log"
    texts = ["@" + "9" * 6000, "@1"]
    log.write_text(
        "".join(
            METRICS.format(f'"dynamo_config":"{text}"', number) for number, text in enumerate(texts)
        )
    )
    prefilter, (part,) = filtered([log], tmp_path / "parts")
    run_tlparse(part, tmp_path / "out", timeout=60)
    (records,) = read_parts([tmp_path / "out"], prefilter)
    found = [each.metrics.dynamo_config for each in records.compiles if each.metrics]
    assert found == texts


def test_configurations_that_are_not_sound(tmp_path: Path) -> None:
    given = [
        {"dynamo_config": '"\xff"'},
        {"dynamo_config": '"\xff"'},
        {"dynamo_config": '"\\ud800"'},
    ]
    found, _ = metrics(tmp_path, given)
    assert [each.dynamo_config for each in found][:2] == ["\ufffd", "\ufffd"]


@pytest.mark.parametrize("number", [1, 20_000])
def test_a_configuration_of_many_megabytes(tmp_path: Path, number: int) -> None:
    text = '"' + "x" * (20_000_000 // number) + '"'
    found, _ = metrics(
        tmp_path, [{"dynamo_config": text, f"a{n}_config": '"b"'} for n in range(min(number, 500))]
    )
    assert {each.dynamo_config for each in found} == {json.loads(text)}


STRING = 'V0101 00:00:00.000 {} torch/x.py:1] {{"str": ["/app/{}.py", {}]}}\n'


def test_each_process_has_its_strings_and_those_from_before_it(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text(STRING.format(7, "a", 0) + STRING.format(8, "b", 1) + STRING.format(7, "c", 1))
    other.write_text(STRING.format(7, "é", 0))
    prefilter, parts = filtered([one, other], tmp_path / "parts")
    assert parts == []
    assert [(process.log, process.id) for process in prefilter.processes] == [
        (0, "7"),
        (0, "8"),
        (1, "7"),
    ]
    tables = [
        [process.strings.file(StackFrame(filename=number)) for number in range(2)]
        for process in prefilter.processes
    ]
    assert tables == [
        ["/app/a.py", "/app/c.py"],
        ["/app/a.py", "/app/b.py"],
        ["/app/é.py", "<unknown>"],
    ]


@pytest.mark.parametrize(
    ("json", "file"),
    [
        (b'{"str": ["/app/\xff.py", 3]}', "/app/\ufffd.py"),
        (rb'{ "str": ["/app/a.py", 3]}', "/app/a.py"),
        (b'{"str": ["/app/a.py", 3], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", None),
        (rb'{"str": ["/app/a.py", -1]}', None),
        (rb'{"str": ["/app/a.py", 3', None),
        (rb'{"str": [3, "/app/a.py"]}', None),
    ],
)
def test_odd_entries_of_a_string_table(tmp_path: Path, json: bytes, file: str | None) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"V0101 00:00:00.000 7 torch/x.py:1] " + json + b"\n" + record("dynamo_start"))
    prefilter, _ = filtered([log], tmp_path / "parts")
    strings = prefilter.processes[0].strings
    assert {strings.file(StackFrame(filename=number)) for number in (-1, 3)} - {"<unknown>"} == (
        {file} - {None}
    )


@pytest.mark.parametrize("block", [1, 50, 4 << 20])
def test_ranks_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    monkeypatch.setattr(module, "_HEADER", 60)
    line = 'V0101 00:00:00.000 7 torch/x.py:1] {{"dynamo_start": {{"stack": []}}{}, "frame_id": 0{}}}\n'
    log = tmp_path / "log"
    log.write_text(
        line.format("", "")
        + line.format(', "rank": 12', ', "attempt": 0' * 99)
        + line.format("", ', "x": "[], \\"rank\\": 3"')
        + line.format(', "rank": 1.5', "")
        + line.format("", ', "x": {"y": 1, "rank": 4}')
        + line.format(', "rank": 12', ', "x": "caf\u00e9"')
        .encode()
        .replace(b"\xc3", b"")
        .decode("latin-1")
    )
    prefilter, (part,) = filtered([log], tmp_path / "parts")
    (process,) = prefilter.processes
    assert process.rank == 12
    kept = part.read_text()
    assert kept.count('"rank\\": 3') == kept.count('"rank": 1.5') == kept.count('"rank": 4') == 1
    assert kept.count("rank") == 3


def test_a_part_tells_of_each_record_whose_it_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(record("chromium_event") + record("dynamo_start", process=8))
    other.write_bytes(record("dynamo_start"))
    _, (part,) = filtered([one, other], tmp_path / "parts")
    assert re.findall(r"py:(\d+)\]", part.read_text()) == [str(place(1, 2)), str(place(2, 3))]


@pytest.mark.parametrize("lost", [1, 30, 60, 90])
def test_a_log_that_is_cut_leaves_the_next_one_alone(tmp_path: Path, lost: int) -> None:
    cut, other = tmp_path / "cut", tmp_path / "other"
    cut.write_bytes((record("dynamo_start") + record("describe_source", payload="x" * 20))[:-lost])
    other.write_bytes(record("dynamo_start", process=8))
    prefilter, (part,) = filtered([cut, other], tmp_path / "parts")
    assert "the log ends within a line" in prefilter.losses[0]
    last = part.read_text().splitlines()[-1]
    assert re.sub(r"py:\d+", "py:1", last) + "\n" == record("dynamo_start", process=8).decode()
