"""Console text of TORCH_LOGS. The recordings are of the scenarios' programs; the expected values are theirs.

s02: ids and mask of sizes (2, 8), (2, 12), (4, 12), then two that a dynamic graph takes. s03: int k 2, then 3.
s04: 10, 20, 1, 0. s07: x of 8, then 10 rows, two graph breaks. s08: self.step 2, 3, 4, … s20: lambda, dynamic=False,
3 to 11, then the limit.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from conftest import TESTS, Trace
from growth import is_linear
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.errors import InputError
from pgo_advisor.ingest.console.lines import parse_line

HEAD = "V1129 12:36:56.007000 4314 torch/x.py:1] "
CONSOLE = TESTS / "fixtures" / "console"
VERSIONS = ["2.7.1", "2.13.0", "2.15.0"]


def advise(text: str, folder: Path) -> Analysis:
    path = folder / "console.log"
    path.write_text(text, encoding="utf-8")
    return pgo_advisor.analyze(path, torch_version="2.13")


def recorded(version: str, name: str) -> str:
    path = CONSOLE / version / f"{name}.txt"
    return path.read_text() if path.exists() else gzip.open(f"{path}.gz", "rt").read()


def listed(analysis: Analysis) -> set[str]:
    return set(analysis.dynamic_sources.split(",")) - {""}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "compiles", "expected"),
    [
        ("s02_batch_and_seq", 3, {"L['ids']:0", "L['ids']:1"}),  # no reason names the mask
        ("s04_zero_one", 4, {"L['x']:0"}),
        ("s20_recompile_limit", 9, {"L['x']:0"}),
    ],
)
def test_recompiles(
    tmp_path: Path, version: str, name: str, compiles: int, expected: set[str]
) -> None:
    analysis = advise(recorded(version, name), tmp_path)
    assert listed(analysis) == expected
    assert len(analysis.tables.compiles) == compiles
    assert set(analysis.tables.compiles["recorded_by"]) == {"console"}
    assert analysis.tables.compiles["seconds"].isna().all()
    assert any("Console text has no durations" in note for note in analysis.notes)
    assert "mark_dynamic(" not in analysis.snippet().replace("maybe_mark_dynamic(", "")
    assert " 0 ms" not in analysis.to_text().split("Functions")[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["s04_zero_one", "s08_module_int_attr", "s20_recompile_limit"])
def test_the_list_is_that_of_the_trace(
    trace: Trace, tmp_path: Path, version: str, name: str
) -> None:
    from_trace = pgo_advisor.analyze(trace(version, name), torch_version="2.13")
    assert listed(advise(recorded(version, name), tmp_path)) == listed(from_trace) != set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s02_batch_and_seq__dynamo", {"L['ids']:0", "L['ids']:1", "L['mask']:0", "L['mask']:1"}),
        ("s02_batch_and_seq__dynamic", {"L['ids']:0", "L['ids']:1", "L['mask']:0", "L['mask']:1"}),
        ("s02_batch_and_seq__recompiles_verbose", {"L['ids']:0", "L['ids']:1"}),
        ("s03_int_arg__dynamo", {"L['k']"}),
        ("s03_int_arg__dynamic", {"L['k']"}),
        ("s03_int_arg__recompiles_verbose", {"L['k']"}),
        ("s07_graph_break_resume__recompiles_verbose", {"L['x']:0", "L['y']:0", "L['z']:0"}),
        ("s07_graph_break_resume__graph_breaks", {"L['x']:0", "L['y']:0", "L['z']:0"}),
        ("s20_recompile_limit__dynamic", {"L['x']:0"}),
    ],
)
def test_other_settings_of_torch_logs(tmp_path: Path, name: str, expected: set[str]) -> None:
    assert listed(advise(recorded("2.13.0", name), tmp_path)) == expected


def test_a_tensor_whose_rank_changes_is_not_advised(tmp_path: Path) -> None:
    # all dims of the second graph are symbols, and still neither graph takes the other's tensors
    assert listed(advise(recorded("2.13.0", "s14_rank_change__dynamic"), tmp_path)) == set()


def test_what_each_table_gets(tmp_path: Path) -> None:
    tables = advise(recorded("2.13.0", "s02_batch_and_seq__dynamo"), tmp_path).tables
    assert tables.compiles["compile_id"].tolist() == ["0/0", "0/1", "0/2"]
    assert tables.compiles["line"].tolist() == [7, 7, 7]
    ids = tables.inputs[tables.inputs["source"] == "L['ids']"]
    assert ids["size"].tolist() == [(2, 8), (2, 12), (4, 12)]
    assert ids["symbolic_dims"].tolist() == [(), (1,), (0, 1)]
    tables = advise(recorded("2.13.0", "s02_batch_and_seq"), tmp_path).tables
    ids = tables.inputs[tables.inputs["source"] == "L['ids']"]
    assert ids["size"].tolist() == [(2, 8), (2, 12), (4, None)]
    assert tables.guard_failures["against"].tolist() == [0, 1, 0]
    breaks = advise(
        recorded("2.13.0", "s07_graph_break_resume__graph_breaks"), tmp_path
    ).tables.graph_breaks
    assert set(breaks["user_line"]) == {7, 9}
    assert set(breaks["reason"]) == {"Call to `torch._dynamo.graph_break()`"}
    outcomes = advise(recorded("2.13.0", "s20_recompile_limit"), tmp_path).tables.compiles[
        "outcome"
    ]
    assert outcomes.tolist() == ["graph"] * 8 + ["limit"]


BARE_WARNING = """\
Epoch 1: loss 0.3
torch._dynamo hit config.recompile_limit (8)
   function: 'forward' (/home/user/app/m.py:7)
   last reason: 0/7: tensor 'ids' size mismatch at index 1. expected 8, actual 12
To log all recompilation reasons, use TORCH_LOGS="recompiles".
To diagnose recompilation issues, see https://pytorch.org/docs/main/torch.compiler_troubleshooting.html.
Epoch 2: loss 0.2
"""


def test_the_bare_warning(tmp_path: Path) -> None:
    analysis = advise(BARE_WARNING, tmp_path)
    assert listed(analysis) == {"L['ids']:1"}
    assert len(analysis.tables.compiles) == 9
    assert analysis.frames[0].line == 7
    assert (
        any(finding.rule == "recompile-limit" for finding in analysis.findings) or analysis.advice
    )


OLD = {
    "2.1": """\
[2023-11-06 14:54:08,549] torch._dynamo.convert_frame.__recompiles: [DEBUG] ('Recompiling function f in /a/f.py:3', \
'triggered by the following guard failure: tensor \\'L[\\'x\\']\\' size mismatch at index 0. expected 3, actual 4')
""",
    "2.2": """\
[2023-11-06 14:54:08,549] torch._dynamo.guards.__recompiles: [DEBUG] Recompiling function f in /a/f.py:3
[2023-11-06 14:54:08,549] torch._dynamo.guards.__recompiles: [DEBUG]     triggered by the following guard failure(s):
[2023-11-06 14:54:08,549] torch._dynamo.guards.__recompiles: [DEBUG]     - tensor 'L['x']' size mismatch at index 0. \
expected 3, actual 4
""",
    "2.3": """\
V0606 14:54:08.549000 140234 torch/_dynamo/guards.py:1425] [__recompiles] Recompiling function f in /a/f.py:3
V0606 14:54:08.549000 140234 torch/_dynamo/guards.py:1425] [__recompiles]     triggered by the following guard failure(s):
V0606 14:54:08.549000 140234 torch/_dynamo/guards.py:1425] [__recompiles]     - tensor 'L['x']' size mismatch at index 0. \
expected 3, actual 4
""",
    "2.1 warning": """\
[2023-11-06 14:54:08,549] torch._dynamo.convert_frame: [WARNING] torch._dynamo hit config.cache_size_limit (8)
[2023-11-06 14:54:08,549] torch._dynamo.convert_frame: [WARNING]    function: 'f' (/a/f.py:3)
[2023-11-06 14:54:08,549] torch._dynamo.convert_frame: [WARNING]    reasons:  tensor 'L['x']' size mismatch at index 0. \
expected 3, actual 4
[2023-11-06 14:54:08,549] torch._dynamo.convert_frame: [WARNING] to diagnose recompilation issues, see https://x.
""",
}


@pytest.mark.parametrize("release", OLD)
def test_releases_without_ids(tmp_path: Path, release: str) -> None:
    analysis = advise(OLD[release], tmp_path)
    assert listed(analysis) == {"L['x']:0"}
    assert (analysis.frames[0].name, analysis.frames[0].file, analysis.frames[0].line) == (
        "f",
        "/a/f.py",
        3,
    )
    # the limit of 8 says that there were 8 graphs
    assert len(analysis.tables.compiles) == (9 if release == "2.1 warning" else 2)


def every_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(line) + "\n" for line in text.splitlines())


def wrapped(line: str, width: int) -> str:
    return "\n".join(line[i : i + width] for i in range(0, len(line), width))


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "Windows newlines": lambda text: text.replace("\n", "\r\n"),
    "colors": every_line(lambda line: f"\x1b[36m{line}\x1b[0m"),
    "colors whose escape is lost": every_line(lambda line: f"[36m{line}[0m"),
    "a window title": every_line(lambda line: f"\x1b]0;train\x07{line}"),
    "quoted": every_line(lambda line: f"> {line}"),
    "quoted twice": every_line(lambda line: f"> > {line}"),
    "a fence": lambda text: f"I get this:\n```\n{text}```\nWhat now?\n",
    "in a list": every_line(lambda line: f"    {line}"),
    "links": lambda text: text.replace(
        "torch/_dynamo/guards.py",
        "[torch/_dynamo/guards.py](https://github.com/x/torch/_dynamo/guards.py)",
    ).replace("/home/user/app/", "[/home/user/app/](http://_vscodecontentref_/1)"),
    "a launcher's time": every_line(lambda line: f"2025-11-29T12:36:56.0070Z {line}"),
    "a host and a pod": every_line(lambda line: f"worker-3 | [pod/train-0] {line}"),
    "a rank": every_line(lambda line: f"[rank6]:{line}"),
    "torchrun": every_line(lambda line: f"[default6]:[rank6]:{line}"),
    "Ray": every_line(lambda line: f"\x1b[36m(TrainWorker pid=1234, ip=10.0.0.1)\x1b[0m {line}"),
    "an absolute path": lambda text: text.replace(
        "torch/_dynamo", "/opt/conda/lib/python3.11/site-packages/torch/_dynamo"
    ),
    "Windows paths": lambda text: text.replace(
        "torch/_dynamo/guards.py", "torch\\_dynamo\\guards.py"
    ).replace("/home/user/app/", "C:\\Users\\me\\my app\\"),
    "a progress bar": every_line(lambda line: f" 10%|█         | 1/10 [00:01<00:09]\r{line}"),
    "other output between": every_line(
        lambda line: f"{line}\nstep 17: loss=0.31 (expected 4, actual 5)"
    ),
    "no line end before": every_line(lambda line: f"loss 0.31{line}"),
    "NULs": every_line(lambda line: f"\0\0{line}\0"),
    "twice": lambda text: text + text,
    **{
        f"wrapped at {width}": every_line(partial(wrapped, width=width)) for width in (80, 100, 120)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize(
    ("version", "name"), [("2.7.1", "s20_recompile_limit"), ("2.13.0", "s02_batch_and_seq")]
)
def test_what_others_put_around_it(tmp_path: Path, wrapping: str, version: str, name: str) -> None:
    plain = advise(recorded(version, name), tmp_path)
    wrapped = advise(WRAPPINGS[wrapping](recorded(version, name)), tmp_path)
    assert listed(wrapped) == listed(plain)
    assert len(wrapped.tables.compiles) == len(plain.tables.compiles)
    assert wrapped.frames[0].line == plain.frames[0].line
    assert (
        wrapped.tables.guard_failures["cause"].tolist()
        == plain.tables.guard_failures["cause"].tolist()
    )
    if "rank" in wrapping or "torchrun" in wrapping:
        assert set(wrapped.tables.compiles["rank"]) == {6}
    if wrapping == "Windows paths":
        assert wrapped.frames[0].file.startswith("C:\\Users\\me\\my app\\s")


@pytest.mark.parametrize("cut", ["index 1. ", "expected 8,", "expected ", "batch_and"])
def test_one_message_that_is_wrapped(tmp_path: Path, cut: str) -> None:
    text = "".join(recorded("2.13.0", "s02_batch_and_seq").splitlines(keepends=True)[:3])
    wrapped = text.replace(cut, f"{cut.rstrip()}\n" + (" " if cut[-1] == "," else ""), 1)
    assert wrapped != text
    tables = advise(wrapped, tmp_path).tables
    assert tables.guard_failures[["source", "dim", "expected", "actual"]].values.tolist() == [
        ["L['ids']", 1, "8", "12"]
    ]
    assert set(tables.compiles["file"]) == {"/home/user/app/s02_batch_and_seq.py"}


def test_a_paste_without_prefixes(tmp_path: Path) -> None:
    text = recorded("2.13.0", "s02_batch_and_seq")
    bare = "".join(line.partition("[__recompiles] ")[2] + "\n" for line in text.splitlines())
    analysis = advise(bare, tmp_path)
    assert listed(analysis) == {"L['ids']:0", "L['ids']:1"}
    assert analysis.tables.compiles["compile_id"].tolist() == ["0/0", "0/1", "0/2"]


def test_ranks_that_are_interleaved(tmp_path: Path) -> None:
    one = recorded("2.13.0", "s02_batch_and_seq").splitlines()
    other = [
        line.replace(" 4314 ", " 4315 ")
        for line in recorded("2.13.0", "s02_batch_and_seq").splitlines()
    ]
    lines = [line for pair in zip(one, other, strict=True) for line in pair]
    tables = advise("\n".join(lines), tmp_path).tables
    assert tables.compiles["compile_id"].tolist() == ["0/0", "0/1", "0/2"] * 2
    ranked = [f"[rank{number % 2}]:{line}" for number, line in enumerate(lines)]
    tables = advise("\n".join(ranked), tmp_path).tables
    assert tables.compiles["rank"].tolist() == [0] * 3 + [1] * 3
    # two processes that write into each other's lines
    tables = advise("".join(lines), tmp_path).tables
    assert len(tables.compiles) == 6


def test_ids_that_come_again_after_a_reset(tmp_path: Path) -> None:
    text = recorded("2.13.0", "s02_batch_and_seq")
    compiles = advise(text + text.replace(" 12:36:5", " 12:46:5"), tmp_path).tables.compiles
    assert compiles["generation"].tolist() == [0] * 3 + [1] * 3


@pytest.mark.slow
def test_a_cut_log(tmp_path: Path) -> None:
    text = recorded("2.13.0", "s20_recompile_limit")
    whole = advise(text, tmp_path).tables.guard_failures["text"].tolist()
    for cut in range(500, len(text), 397):
        complete = text[:cut].count("actual ") - text[:cut].rpartition("\n")[2].count("actual ")
        failures = advise(text[:cut], tmp_path).tables.guard_failures["text"].tolist()
        assert failures[:complete] == whole[:complete]


def test_beside_the_trace_of_the_same_run(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "out.txt"
    log.write_text(recorded("2.13.0", "s02_batch_and_seq__dynamo"))
    both = pgo_advisor.analyze(trace("2.13.0", "s02_batch_and_seq"), log)
    alone = pgo_advisor.analyze(trace("2.13.0", "s02_batch_and_seq"))
    assert both.dynamic_sources == alone.dynamic_sources
    # the trace is another log of the job
    assert replace(both.totals, slowest=None) == replace(alone.totals, slowest=None)
    assert any("3 of 3 compiles are in the trace" in note for note in both.notes)
    log.write_text(recorded("2.13.0", "s03_int_arg__dynamic"))
    both = pgo_advisor.analyze(trace("2.13.0", "s02_batch_and_seq"), log)
    assert "L['k']" in listed(both)


def test_beside_a_profile(tmp_path: Path) -> None:
    log = tmp_path / "out.txt"
    log.write_text(recorded("2.13.0", "s02_batch_and_seq"))
    profile = TESTS / "fixtures" / "pgo" / "2.13.0" / "code_state_s02_batch_and_seq_None_.pkl"
    both = pgo_advisor.analyze(log, profile, torch_version="2.13")
    assert listed(both) == {"L['ids']:0", "L['ids']:1", "L['mask']:0", "L['mask']:1"}


@pytest.mark.slow
def test_standard_input_and_pipes() -> None:
    command = [
        sys.executable,
        "-m",
        "pgo_advisor",
        "env",
        "--format",
        "value",
        "--torch-version",
        "2.13",
    ]
    text = recorded("2.13.0", "s03_int_arg__recompiles_verbose").encode()
    done = subprocess.run([*command, "-"], input=text, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"L['k']\n")
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    done = subprocess.run([*command, f"/dev/fd/{reading}"], pass_fds=[reading], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"L['k']\n")


def test_text_that_tells_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing that can be analysed"):
        advise("loss 0.1\nloss 0.2\n", tmp_path)


@pytest.mark.slow
class TestHostileText:
    def test_a_line_without_end(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        with path.open("w") as file:
            file.write(recorded("2.13.0", "s02_batch_and_seq"))
            for _ in range(50):
                file.write("[0/9] V1129 - x" * 70_000)
            file.write("\n" + recorded("2.13.0", "s03_int_arg__recompiles_verbose"))
        analysis = pgo_advisor.analyze(path, torch_version="2.13")
        assert listed(analysis) == {"L['ids']:0", "L['ids']:1", "L['k']"}

    @pytest.mark.parametrize(
        "line",
        [
            ("", f"{HEAD}[0/1] ", ""),
            ("", "> ", ""),
            ("", "\x1b[", ""),
            ("", "[", ""),
            ("", "[x](", ""),
            ("V1129 12:36:56.007000 4314 ", "a.py:", ""),
            ("", "[rank1]:", ""),
            (f"{HEAD}[0/1] create_symbol s0 = 1 for ", " [1, ", ""),
            (f"{HEAD}[0/1] wrap_to_fake x (", "1, ", ""),
            (f"{HEAD}[0/1] wrap_to_fake ", "x (", ""),
            (f"{HEAD}[0/1] automatic dynamic ", "x size(1) ", ""),
            (f"{HEAD}[0/1] eval ", "[guard added", ""),
            (f"{HEAD}[0/1] Recompiling function f in ", ":1", "x"),
            (f"{HEAD}('Recompiling function f in x:1', ", "(", ")"),
            (f"{HEAD}[0/1]     - ", "mismatch at index", ""),
        ],
    )
    def test_reading_takes_linear_time(self, tmp_path: Path, line: tuple[str, str, str]) -> None:
        path = tmp_path / "log"
        text = recorded("2.13.0", "s02_batch_and_seq")

        def read(size: int) -> None:
            repeated = line[0] + line[1] * size + line[2]
            path.write_text(f"{text}{repeated}\n")
            pgo_advisor.analyze(path, torch_version="2.13")

        assert is_linear(read, 5000)

    def test_numbers_that_would_fill_memory(self, tmp_path: Path) -> None:
        text = recorded("2.13.0", "s02_batch_and_seq")
        for number in ("999999999", "9999999999999999999"):
            changed = text.replace("[0/2]", f"[0/{number}]").replace(
                "index 0", f"index {number[:9]}"
            )
            analysis = advise(changed, tmp_path)
            assert len(analysis.tables.compiles) < 1000

    @given(st.text(max_size=200))
    def test_any_line(self, text: str) -> None:
        list(parse_line(text))

    @given(st.data())
    @settings(max_examples=60, deadline=None)
    def test_a_log_with_other_bytes_in_it(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        content = bytearray(recorded("2.13.0", "s02_batch_and_seq__dynamic"), "utf-8")
        content += recorded("2.13.0", "s20_recompile_limit").encode()[-3000:]
        for _ in range(data.draw(st.integers(1, 6))):
            start = data.draw(st.integers(0, len(content) - 1))
            content[start : start + data.draw(st.integers(0, 30))] = data.draw(
                st.binary(max_size=30)
            )
        path = tmp_path_factory.mktemp("fuzz") / "log"
        path.write_bytes(content)
        with contextlib.suppress(InputError):
            pgo_advisor.analyze(path).to_text()
