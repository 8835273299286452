"""`pgo-advisor verify` on real programs, with advice that holds and with advice that does not."""

from __future__ import annotations

import json
import math
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from programs import COMPILE, Box, until_line

from pgo_advisor.analysis import Analysis
from pgo_advisor.render.json import schema
from pgo_advisor.report.measured import Outcome
from pgo_advisor.run.record import RecordedRun
from pgo_advisor.run.supervise import Ended
from pgo_advisor.verify.candidates import Entries
from pgo_advisor.verify.compare import Comparison
from pgo_advisor.verify.expectation import expectation_from
from pgo_advisor.verify.minimize import smallest
from pgo_advisor.verify.runner import Function, Runner, RunResult

LIST = "TORCH_COMPILE_DYNAMIC_SOURCES"
TWO = """
import os, sys, torch
@torch.compile(backend="eager")
def f(x, y, k): return x * 2 + k, y + 1
for n in (3, 4, 5): f(torch.randn(n), torch.randn(n + 2, n + 3), 7)
"""


def measure(box: Box, *arguments: object, code: int, **options: Any) -> dict[str, Any]:
    """Runs verify, checks its exit code, and gives what it measured as JSON."""
    out = box.folder / "verified.json"
    done = box.run("verify", "-f", "--json", out, *arguments, **options)
    assert done.returncode == code, done.stderr.decode()
    report = json.loads(out.read_text())
    jsonschema.validate(report, schema())
    measured: dict[str, Any] = report["measured"]
    return measured


def advice(box: Box, value: str) -> Path:
    path = box.folder / "advice.json"
    path.write_text(json.dumps({"dynamic_sources": value}))
    return path


def test_advice_that_holds(box: Box) -> None:
    program = box.program(COMPILE + "print('mine', input())\nraise SystemExit(7)")
    done = box.run("verify", "--json", box.folder / "a.json", "--", *program, input=b"typed\n")
    assert done.returncode == 7
    assert done.stdout.startswith(b"2 compiles \xe2\x86\x92 1, ")
    assert b"mine" not in done.stdout
    said = f"pgo-advisor: wrote {box.folder / 'a.json'}\n".encode()
    assert done.stderr == b"mine typed\n" * 4 + said
    measured = json.loads((box.folder / "a.json").read_text())["measured"]
    assert measured["outcome"] == "held"
    assert measured["before"]["compiles"] == [2, 2]
    assert measured["after"]["compiles"] == [1, 1]
    assert measured["after"]["exit_codes"] == [7, 7]
    assert measured["predicted_compiles"] == [1, 1]
    assert measured["unforeseen"] == []
    assert measured["notes"] == []
    assert measured["torch_version"].startswith("2.")
    (frame,) = measured["frames"]
    assert (frame["name"], frame["line"], frame["predicted_compiles"]) == ("f", 3, [1, 1])
    assert (frame["before"], frame["after"]) == ([2, 2], [1, 1])
    for side in ("before", "after"):
        for wall, rest, compiling in zip(
            *(measured[side][f"{name}_seconds"] for name in ("wall", "rest", "compile")),
            strict=True,
        ):
            assert rest == pytest.approx(wall - compiling, abs=1e-5)


def test_an_entry_that_breaks_the_program_is_named(box: Box) -> None:
    # PyTorch takes an entry for a regular expression: this one is none, and kills
    path = advice(box, "L['x'],L['y'],[z-a],L['k']")
    measured = measure(box, "--runs", 1, "--advice", path, *box.program(TWO), code=5)
    assert measured["outcome"] == "broke"
    assert measured["broken_by"] == ["[z-a]"]
    assert measured["smallest"] == "L['x'],L['y'],L['k']"
    assert "exit code 0 without it, exit code 1 with it" in measured["why"]


def test_the_smallest_list(box: Box) -> None:
    path = advice(box, "L['x'],L['k'],L['y'],L['no']")
    program = box.program(TWO)
    measured = measure(box, "--runs", 1, "--advice", path, *program, code=0)
    assert measured["useless"] == ["L['no']"]
    measured = measure(box, "--runs", 1, "--minimize", "--advice", path, *program, code=0)
    assert measured["smallest"] == "L['x'],L['y']"
    assert measured["useless"] == ["L['k']", "L['no']"]


def test_advice_that_does_not_help(box: Box) -> None:
    measured = measure(
        box, "--runs", 1, "--advice", advice(box, "L['k']"), *box.program(TWO), code=5
    )
    assert measured["outcome"] == "no-help"
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [2])


def trial(wall: float, compiles: int = 1, compiling: float = 1.0) -> RunResult:
    function = Function("f", "f.py", 1)
    recorded = RecordedRun((), Ended(0, wall, None, False), (), timed_out=False)
    return RunResult(
        recorded, Counter({function: compiles}), {function: compiling}, compiling, "", None
    )


def comparing(recorded: Analysis, first: RunResult) -> Comparison:
    runner, expected = Runner(["true"]), expectation_from(recorded)
    return Comparison(runner, Entries(runner, expected.dynamic_sources), expected, recorded, first)


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ((20.0, 21.0), (26.0, 27.0), Outcome.costs_more),
        ((20.0, 21.0), (18.0, 19.0), Outcome.held),
        # not by more than it varies, or than chance does
        ((20.0, 23.0), (26.0, 26.0), Outcome.held),
        ((20.0, 20.0), (20.5, 20.5), Outcome.held),
        # one run each tells nothing of the spread
        ((20.0,), (26.0,), Outcome.held),
    ],
)
def test_advice_that_costs_more_than_it_saves(
    analysis: Callable[[str, str], Analysis],
    before: tuple[float, ...],
    after: tuple[float, ...],
    outcome: Outcome,
) -> None:
    recorded = analysis("2.13.0", "s01_batch_dim")
    comparison = comparing(recorded, trial(before[0], 2, 4.0))
    comparison.before += [trial(wall, 2, 4.0) for wall in before[1:]]
    comparison.after += [trial(wall) for wall in after]
    assert comparison.outcome()[0] is outcome


def test_execution_that_became_slower_is_told(
    analysis: Callable[[str, str], Analysis],
) -> None:
    recorded = analysis("2.13.0", "s01_batch_dim")
    comparison = comparing(recorded, trial(20.0, 2, 4.0))
    comparison.before.append(trial(20.2, 2, 4.0))
    # 3 s of compiling went and 2 s of the whole
    comparison.after += [trial(18.0), trial(18.0)]
    comparison.remark()
    assert any("16.1 s without the advice and 17.0 s with it" in note for note in comparison.notes)


@pytest.mark.parametrize(("seconds", "told"), [(18.0, "it held"), (90.0, "Do not use it")])
def test_every_report_shows_what_was_measured(
    analysis: Callable[[str, str], Analysis], seconds: float, told: str
) -> None:
    recorded = analysis("2.13.0", "s01_batch_dim")
    comparison = comparing(recorded, trial(20.0, 2, 4.0))
    comparison.before.append(trial(20.0, 2, 4.0))
    comparison.after += [trial(seconds), trial(seconds)]
    measured = replace(recorded, measured=comparison.measured(minimize=False))
    for text in (measured.to_text(), measured.to_html(), measured.to_markdown()):
        assert "2 compiles → 1, 4.0 s → 1.0 s of compiling, measured" in text
        assert told in text
        assert "predicted, not measured" not in text
    jsonschema.validate(measured.to_dict(), schema())
    assert measured.to_dict()["measured"]["after"]["wall_seconds"] == [seconds, seconds]


def test_another_result_is_found_out(box: Box) -> None:
    out = box.folder / "out.txt"
    program = box.program(
        TWO
        + f"open({str(out)!r}, 'w').write('y' if \"L['y']\" in os.environ.get('{LIST}', '') else 'n')"
    )
    path = advice(box, "L['x'],L['y'],L['k']")
    same = ("--runs", 1, "--compare", f"cat '{out}'", "--advice", path)
    measured = measure(box, *same, *program, code=5)
    assert measured["outcome"] == "differs"
    assert measured["broken_by"] == ["L['y']"]
    assert measured["smallest"] == "L['x'],L['k']"


def test_a_program_that_compiles_differently_each_time(box: Box) -> None:
    count = box.folder / "count"
    program = box.program(
        "import os\n"
        f"runs = os.path.getsize({str(count)!r}) if os.path.exists({str(count)!r}) else 0\n"
        f"open({str(count)!r}, 'a').write('x')\n"
        + COMPILE
        + "if runs: f(torch.randn(3, 3)), f(torch.randn(3).double())"
    )
    measured = measure(box, *program, code=5)
    assert measured["before"]["compiles"] == [2, 4]
    assert measured["outcome"] == "not-comparable"
    assert any("not deterministic" in note for note in measured["notes"])


def test_a_pipe_is_given_to_each_run(box: Box) -> None:
    program = box.program(
        COMPILE.replace("(3, 4, 5)", "map(int, sys.stdin)").replace(
            "import torch", "import sys, torch"
        )
    )
    # more than a pipe holds
    measured = measure(box, "--runs", 1, *program, code=0, input=b"3\n4\n" + b"5\n" * 40_000)
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [1])
    path = box.folder / "sizes"
    path.write_text("skipped\n3\n4\n")
    with path.open("rb", buffering=0) as file:
        file.readline()
        measured = measure(box, "--runs", 1, *program, code=0, stdin=file)
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [1])


def test_a_pipe_that_never_ends(box: Box) -> None:
    child = box.start("verify", "-q", "--runs", "1", *box.program(COMPILE), stdin=-1)
    assert child.wait(timeout=120) == 0
    child.communicate()


def test_two_ranks(box: Box) -> None:
    program = box.program(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "r = dist.get_rank()\n"
        "@torch.compile(backend='eager')\n"
        "def step(x, y): return (x @ y.t()).sum()\n"
        "for i in range(3): step(torch.randn(8 if r == 0 else 8 + 2 * i, 4), torch.randn(16, 4))\n"
        "dist.barrier(); dist.destroy_process_group()\n"
    )
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    measured = measure(box, "--runs", 1, *launch, program[1], code=0)
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([3], [2])


def test_advice_from_a_trace(box: Box) -> None:
    program = box.program(COMPILE)
    assert box.run("record", "-q", "-o", box.folder / "trace", *program).returncode == 0
    measured = measure(box, "--runs", 1, "--advice", box.folder / "trace", *program, code=0)
    assert measured["outcome"] == "held"
    assert any("One run each" in note for note in measured["notes"])


def test_an_interrupt_ends_it(box: Box) -> None:
    program = box.program(COMPILE + "import time\nprint('ready', flush=True)\ntime.sleep(600)")
    child = box.start("verify", *program)
    until_line(child.stderr, b"ready")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    assert b"interrupted" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("way", ["list", "mark"])
def test_an_interrupt_ends_the_search_for_the_smallest(
    box: Box, number: signal.Signals, way: str
) -> None:
    # two runs are compared, the third is of a part of the advice
    code = f"""{COMPILE}
import pathlib, time
runs = pathlib.Path({str(box.folder / "runs")!r})
runs.mkdir(exist_ok=True)
(runs / str(len(list(runs.iterdir())))).touch()
if len(list(runs.iterdir())) == 3:
    print("ready", flush=True)
    time.sleep(600)
"""
    program = box.program(code)
    child = box.start(
        *("verify", "--minimize", "--runs", 1, "--with", way, *program), cwd=box.folder
    )
    until_line(child.stderr, b"ready")
    child.send_signal(number)
    out, _ = child.communicate(timeout=60)
    assert (child.returncode, out) == (128 + number, b"")
    assert Path(program[1]).read_text() == code


def test_there_is_nothing_to_verify(box: Box) -> None:
    program = box.program(COMPILE.replace("(3, 4, 5)", "(3, 3, 3)") + "raise SystemExit(4)")
    assert measure(box, *program, code=4) is None
    done = box.run("verify", *box.program("raise SystemExit(6)"))
    assert (done.returncode, done.stdout) == (6, b"")
    assert b"no compile was recorded" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"dynamic_sources": 3}', '{"dynamic_sources": "a\\u0000b"}', "[" * 100_000],
)
def test_advice_that_is_none(box: Box, text: str) -> None:
    path = box.folder / "bad.json"
    path.write_text(text)
    done = box.run("verify", "--advice", path, "true")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (3, b"", 1)


@given(st.integers(0, 20), st.data())
def test_smallest_finds_what_is_needed_in_few_trials(total: int, data: st.DataObject) -> None:
    items = list(range(total))
    needed = set(data.draw(st.lists(st.sampled_from(items), unique=True))) if items else set()
    trials = 0

    def has_effect(some: Sequence[int]) -> bool:
        nonlocal trials
        trials += 1
        return needed <= set(some)

    assert smallest(items, has_effect) == sorted(needed)
    k = len(needed)
    # QuickXplain's bound is for items that halve evenly: for the next power of two
    even = 1 << (total - 1).bit_length() if total else 0
    assert trials <= 1 + (2 * k * math.log2(even / k) + 2 * k if k else 0)


@given(st.lists(st.frozensets(st.integers(0, 9), min_size=1), min_size=1, max_size=4))
def test_smallest_finds_one_of_several_ways(ways: list[frozenset[int]]) -> None:
    def has_effect(some: Sequence[int]) -> bool:
        return any(way <= set(some) for way in ways)

    found = smallest(range(10), has_effect)
    assert has_effect(found)
    assert not any(has_effect([item for item in found if item != left]) for left in found)


def project(box: Box, files: dict[str, str]) -> Path:
    root = box.folder / "project"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def sources(root: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in root.rglob("*") if path.suffix in (".py", ".txt")
    }


# the call comes before the function, which moves down by the marks
CALLER = """
import torch
def run():
    for n in SIZES:
        f(torch.randn(n), n)
@torch.compile(backend="eager")
def f(x, k): return x * 2
"""
WRITE = "run()\nopen('out.txt', 'w').write('same')"


def test_marks_that_hold(box: Box) -> None:
    train = CALLER.replace("SIZES", "map(int, open('sizes.txt'))") + WRITE
    root = project(box, {"train.py": train, "sizes.txt": "3\n4\n5\n", "out.txt": "same"})
    before = sources(root)
    compare = ("--compare", "cat out.txt && pwd | sed 's,.*/project,,'")
    reports = ("--markdown", box.folder / "a.md", "--html", box.folder / "a.html")
    options = ("--with", "mark", "--runs", 1, *compare, *reports)
    measured = measure(box, *options, sys.executable, "train.py", code=0, cwd=root)
    assert sources(root) == before
    assert (measured["outcome"], measured["with"]) == ("held", "mark")
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [1])
    assert measured["marks"] == ["L['x'] dim 0 in f at train.py:5"]
    assert (measured["files"], measured["dynamic_sources"]) == (["train.py"], "")
    assert "+        torch._dynamo.mark_dynamic(x, 0)\n" in measured["diff"]
    assert measured["unforeseen"] == []
    assert "--compare gives the same without and with the marks." in measured["notes"]
    (frame,) = measured["frames"]
    assert (frame["file"], frame["line"]) == (str(root / "train.py"), 6)
    assert (frame["predicted_compiles"], frame["before"], frame["after"]) == ([1, 1], [2], [1])
    for name, header in (("a.md", "with the marks |"), ("a.html", "With the marks</th>")):
        shown = (box.folder / name).read_text()
        assert header in shown
        assert "1 input marked in " in shown
        assert "mark_dynamic" in shown


PACKAGE = {
    "src/pkg/__init__.py": "",
    "src/pkg/model.py": CALLER.replace("SIZES", "(3, 4, 5)"),
    "tools/train.py": "import sys\nsys.path.PUT\nfrom pkg.model import run\nrun()\n",
}


def measure_package(box: Box, put: str, *, code: int) -> dict[str, Any]:
    root = project(box, PACKAGE)
    script = root / "tools" / "train.py"
    script.write_text(script.read_text().replace("PUT", put.format(repr(str(root / "src")))))
    before = sources(root)
    measured = measure(
        box,
        *("--with", "mark", "--runs", 1, "--root", root, sys.executable, script),
        code=code,
        cwd=root / "tools",
    )
    assert sources(root) == before
    return measured


def test_marks_in_a_package_that_is_installed_from_here(box: Box) -> None:
    # this is what an editable install does
    measured = measure_package(box, "append({})", code=0)
    assert (measured["outcome"], measured["files"]) == ("held", ["src/pkg/model.py"])
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [1])
    assert measured["frames"][0]["after"] == [1]


def test_a_program_that_leads_back_to_the_original(box: Box) -> None:
    measured = measure_package(box, "insert(0, {})", code=5)
    assert measured["outcome"] == "not-comparable"
    assert measured["why"].endswith("and not the copy that has the marks")
    assert any(
        note.endswith("leads to " + str(box.folder / "project/src/pkg/model.py."))
        for note in measured["notes"]
    )
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([2], [2])


def test_a_mark_that_breaks_the_program_is_named(box: Box) -> None:
    root = project(
        box,
        {
            "train.py": """
import os, torch
PINNED = "PINNED" in os.environ
@torch.compile(backend="eager")
def f(x, y): return x * 2, y.reshape(4, 2) if PINNED else y + 1
for n in (3, 4, 5): f(torch.randn(n), torch.randn(8 if PINNED else n + 3))
"""
        },
    )
    command = (sys.executable, "train.py")
    trace = box.folder / "trace"
    assert box.run("record", "-q", "-o", trace, *command, cwd=root).returncode == 0
    mark = ("--with", "mark", "--runs", 1, "--advice", trace)
    measured = measure(box, *mark, *command, code=5, cwd=root, env={"PINNED": "1"})
    assert measured["outcome"] == "broke"
    assert measured["broken_by"] == ["L['y'] dim 0 in f at train.py:6"]
    assert measured["smallest"] == "L['x'] dim 0 in f at train.py:6"
    assert any("as before, with 1 compiles" in note for note in measured["notes"])
    # where it is not pinned, both are needed
    measured = measure(box, *mark, "--minimize", *command, code=0, cwd=root)
    assert (measured["outcome"], measured["useless"]) == ("held", [])
    assert len(measured["smallest"].split(" and ")) == 2


def test_what_cannot_be_a_mark_is_an_entry(box: Box) -> None:
    root = project(
        box,
        {
            "train.py": """
import torch
@torch.compile(backend="eager")
def f(x, k): return x * k
@torch.compile(backend="eager")
def g(z): return z + 1
for n in (3, 4, 5):
    f(torch.randn(n), n + 2)
    (lambda: g(torch.randn(n)))()
"""
        },
    )
    measured = measure(
        box, "--with", "mark", "--runs", 1, sys.executable, "train.py", code=0, cwd=root
    )
    assert measured["outcome"] == "held"
    assert (measured["before"]["compiles"], measured["after"]["compiles"]) == ([4], [2])
    assert measured["marks"] == ["L['x'] dim 0 in f at train.py:8"]
    assert sorted(measured["dynamic_sources"].split(",")) == ["L['k']", "L['z']:0"]
    assert any(
        note.startswith("L['z'] dim 0 in g was tried as the list entry L['z']:0, since")
        for note in measured["notes"]
    )


def test_a_program_that_fails_in_any_copy(box: Box) -> None:
    program = COMPILE + "raise SystemExit('pgo-advisor' in __file__)"
    root = project(box, {"train.py": program})
    mark = ("--with", "mark", "--runs", 1)
    measured = measure(box, *mark, sys.executable, "train.py", code=5, cwd=root)
    assert measured["outcome"] == "not-comparable"
    assert measured["why"] == "the program does something else in a copy without marks, too"
    assert (measured["after"]["exit_codes"], measured["runs"]) == ([1], 3)


def test_nothing_can_be_a_mark(box: Box) -> None:
    root = project(
        box,
        {
            "train.py": """
import torch
@torch.compile(backend="eager")
def f(x): return x * 2
for run in [lambda n: f(torch.randn(n))]:
    for n in (3, 4, 5): run(n)
"""
        },
    )
    mark = ("verify", "--with", "mark", "--runs", "1")
    done = box.run(*mark, "--json", box.folder / "a.json", sys.executable, "train.py", cwd=root)
    assert done.returncode == 5
    assert b"because" in done.stderr
    assert b"nothing to verify as marks" in done.stderr
    assert json.loads((box.folder / "a.json").read_text())["measured"] is None
    done = box.run(*mark, "--advice", box.folder / "a.json", sys.executable, "train.py", cwd=root)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert b"a JSON report does not tell where the marks go" in done.stderr
    program = box.program(COMPILE.replace("(3, 4, 5)", "(3, 3, 3)") + "raise SystemExit(4)")
    assert measure(box, "--with", "mark", *program, code=4) is None
    assert box.run("verify", "--root", root, "true").returncode == 2


def test_entries_that_are_in_force_are_not_tried(box: Box) -> None:
    program = box.program(COMPILE)
    box.environment[LIST] = "L['x']:0"
    assert measure(box, *program, code=0) is None
    box.environment[LIST] = "L['other']"
    measured = measure(box, "--runs", 1, "--minimize", *program, code=0)
    assert (measured["dynamic_sources"], measured["useless"]) == ("L['x']:0", [])
