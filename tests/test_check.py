"""`pgo-advisor check`: budgets, the baseline, and what its outputs hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from click.testing import CliRunner, Result
from conftest import TESTS, TRACES, Trace
from hostile import TEXTS
from programs import COMPILE, Box
from sample_repository import LINE, Repository

from pgo_advisor.analysis import Analysis
from pgo_advisor.check.budgets import Budgets, ConfigError, budgets, matches
from pgo_advisor.check.junit import render_junit
from pgo_advisor.check.sarif import RESULTS, render_sarif
from pgo_advisor.check.text import render_github, render_text
from pgo_advisor.check.violations import Checked, Violation, check, considered
from pgo_advisor.cli import main
from pgo_advisor.compare.functions import functions_of
from pgo_advisor.compare.places import Checkout
from pgo_advisor.report import UserLine

SARIF = json.loads((TESTS / "fixtures" / "sarif" / "sarif-schema-2.1.0.json").read_text("utf-8"))
"""https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"""


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_a_commit_that_recompiles_is_caught_and_its_mending_passes(
    sample: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(sample.root)
    baseline = tmp_path / "compiles.json"
    sample.check_out("base")
    assert run(sample.traces["base"], "--baseline", baseline, "--update-baseline").exit_code == 0
    # in train.py only x of Attention is marked
    assert json.loads(baseline.read_text())["functions"] == [
        {
            "function": "Head.forward",
            "file": "model.py",
            "recompiles": [{"cause": "tensor-size", "input": "L['x'] dim 0", "count": 1}],
        }
    ]
    sample.check_out("regressed")
    caught = run(sample.traces["regressed"], "--baseline", baseline)
    assert caught.exit_code == 1
    first, code, cure, last = caught.stdout.splitlines()
    # four calls: step is 0, 1, 2, 3, and an int of a module never becomes a symbol by itself
    assert first == (
        f"model.py:{LINE}: new-recompile Attention.forward: 3 new recompiles PGO103: "
        "int-value L['self'].step (0 → 1, 1 → 2, 2 → 3)"
    )
    assert code.strip() == f"{LINE} | self.step += 1"
    assert "TORCH_COMPILE_DYNAMIC_SOURCES" in cure
    assert last == "Found 1 problem."
    sample.check_out("mended")
    mended = run(sample.traces["mended"], "--baseline", baseline)
    assert mended.exit_code == 0
    assert mended.output == "All checks passed. Within its budget: baseline.\n"


def test_graphs_of_a_method_are_limited_by_its_qualified_name(
    sample: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample.root)
    sample.check_out("regressed")
    caught = run(sample.traces["regressed"], "--max-graphs", "Attention.forward=3")
    assert caught.exit_code == 1
    assert "Attention.forward: 4 graphs, 3 allowed (int-value L['self'].step 3x)" in caught.stdout
    assert run(sample.traces["regressed"], "--max-graphs", "Attention.forward=4").exit_code == 0
    assert run(sample.traces["regressed"], "--max-graphs", "Head.*=1").exit_code == 1
    unknown = run(sample.traces["regressed"], "--max-graphs", "Attn.forward=1")
    assert unknown.exit_code == 0
    assert "no compiled function is called 'Attn.forward'" in unknown.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        # s20: dynamic=False, sizes 3 to 14, the limit is 8: 7 recompiles for a size, one at the limit
        (["--max-recompiles", "8"], 0),
        (["--max-recompiles", "7"], 1),
        (["--max-recompiles", "shape=7"], 0),
        (["--max-recompiles", "shape=6"], 1),
        (["--max-recompiles", "tensor-size=6"], 1),
        (["--max-recompiles", "value=0"], 0),
        (["--max-recompiles", "limit=0"], 1),
        (["--max-recompiles", "limit=1", "--max-recompiles", "8"], 0),
        (["--max-graphs", "<lambda>=8"], 0),
        (["--max-graphs", "*=7"], 1),
        (["--no-limit-hit"], 1),
        (["--no-eager-fallback"], 1),
        (["--max-compile-seconds", "3600"], 0),
        (["--max-compile-seconds", "0"], 1),
        (["--select", "PGO1"], 1),
        (["--select", "PGO101"], 1),
        (["--select", "PGO4"], 0),
        (["--select", "ALL", "--ignore", "PGO1", "--ignore", "PGO3"], 0),
        (["--max-recompiles", "0", "--ignore", "<lambda>"], 0),
        (["--max-recompiles", "1", "--expected-static", "L['x']"], 0),
        (["--max-recompiles", "0", "--expected-static", "L['x'] dim 0"], 1),
        (["--no-limit-hit", "--expected-static", "*"], 1),
        ([], 1),
        (["--max-recompiles", "no-cause=1"], 2),
        (["--max-recompiles", "-1"], 2),
        (["--max-graphs", "3"], 2),
        (["--select", "PGO999"], 2),
        (["--update-baseline"], 2),
        (["--baseline", "nothing.json"], 2),
        (["--format", "xml"], 2),
        (["--format", "sarif", "--format", "text"], 2),
    ],
)
def test_budgets(options: list[str], code: int, trace: Trace, in_tmp: Path) -> None:
    assert run(trace("2.13.0", "s20_recompile_limit"), *options).exit_code == code


def test_without_recompiles_all_is_well(trace: Trace, in_tmp: Path) -> None:
    result = run(trace("2.13.0", "t25_marked_first_call"))
    assert (result.exit_code, result.stdout) == (
        0,
        "All checks passed. Within its budget: recompiles.\n",
    )


def test_what_cannot_be_read(in_tmp: Path) -> None:
    (in_tmp / "notes.txt").write_text("no log\n")
    assert run(in_tmp / "notes.txt").exit_code == 3
    assert run(in_tmp / "gone.log").exit_code == 3
    assert run().exit_code == 2
    assert run("some.log", "--", "true").exit_code == 2


def test_budgets_of_the_nearest_pyproject(trace: Trace, in_tmp: Path) -> None:
    path = trace("2.13.0", "s20_recompile_limit")
    inner = in_tmp / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.ruff]\n")
    file = in_tmp / "pyproject.toml"
    file.write_text(
        '[tool.pgo-advisor]\nmax-recompiles = 8\nno-limit-hit = true\nignore = ["PGO302"]\n'
        '[tool.pgo-advisor.max-graphs]\n"<lambda>" = 8\n'
    )
    assert budgets({}, inner) == Budgets(
        max_recompiles={"all": 8},
        no_limit_hit=True,
        ignore=("PGO302",),
        max_graphs={"<lambda>": 8},
    )
    assert run(path).exit_code == 0
    assert run(path, "--max-recompiles", "6").exit_code == 1
    assert run(path, "--max-graphs", "*=1").exit_code == 1
    file.write_text("[tool.pgo-advisor]\nmax-recompile = 8\n")
    unknown = run(path)
    assert unknown.exit_code == 2
    assert "max-recompile" in unknown.stderr
    for text in ("[tool.pgo-advisor\n", "tool = 1\n", "[tool.pgo-advisor]\nmax-recompiles = -1\n"):
        file.write_text(text)
        assert run(path).exit_code == (1 if text == "tool = 1\n" else 2)


def test_a_baseline_in_the_file_is_beside_it(in_tmp: Path) -> None:
    (in_tmp / "pyproject.toml").write_text('[tool.pgo-advisor]\nbaseline = "b.json"\n')
    inner = in_tmp / "inner"
    inner.mkdir()
    assert budgets({}, inner).baseline == str(in_tmp / "b.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 2, "about": "", "functions": []}',
        '{"version": 1, "about": "", "functions": [{"function": "f", "file": "f", "recompiles": '
        '[{"cause": "x", "input": "", "count": 999999999}]}]}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_a_file_that_is_no_baseline(text: str, trace: Trace, in_tmp: Path) -> None:
    (in_tmp / "b.json").write_text(text)
    result = run(trace("2.13.0", "s01_batch_dim"), "--baseline", "b.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("pgo-advisor: b.json is ")


def test_ranks_and_their_order_do_not_matter(trace: Trace, in_tmp: Path) -> None:
    logs = sorted(trace("2.13.0", "m01_two_ranks").iterdir())
    renamed = [
        in_tmp / f"dedicated_log_torch_trace_rank_{rank}_x.log" for rank in range(7, 7 + len(logs))
    ]
    for log, name in zip(reversed(logs), renamed, strict=True):
        name.write_bytes(log.read_bytes())
    assert run(*logs, "--baseline", "b.json", "--update-baseline").exit_code == 0
    assert run(*renamed, "--baseline", "b.json").exit_code == 0
    # that of one rank is no new one where it happens on two
    assert run(logs[0], "--baseline", "one.json", "--update-baseline").exit_code == 0
    again = in_tmp / "dedicated_log_torch_trace_rank_3_y.log"
    again.write_bytes(logs[0].read_bytes())
    assert run(logs[0], again, "--baseline", "one.json").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.13.0", "2.15.0", "2.7.1"])
def test_each_recording_is_within_its_own_baseline(
    version: str, analysis: Callable[[str, str], Analysis], tmp_path: Path
) -> None:
    from pgo_advisor.check import baseline

    checkout = Checkout(tmp_path)
    for path in sorted((TRACES / version).iterdir()):
        functions = functions_of(analysis(version, path.name.removesuffix(".log.gz")), checkout)
        file = tmp_path / "b.json"
        baseline.write(file, functions, checkout)
        assert baseline.compared(baseline.read(file), functions, checkout) == ([], 0), path


def test_patterns() -> None:
    assert matches("Attention.*", "Attention.forward")
    assert matches("L['x']", "L['x']")
    assert not matches("L['x']", "Lx")
    assert matches("*", "<lambda>")
    with pytest.raises(ConfigError):
        Budgets(ignore=("PGO999",))


def sarif(checked: Checked, checkout: Checkout) -> list[dict[str, Any]]:
    log = json.loads(render_sarif(checked, checkout))
    jsonschema.Draft4Validator(SARIF).validate(log)
    (told,) = log["runs"]
    known = {rule["id"] for rule in told["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in told["results"]} == known
    found: list[dict[str, Any]] = told["results"]
    return found


@pytest.mark.slow
def test_sarif_of_every_budget(analysis: Callable[[str, str], Analysis], in_tmp: Path) -> None:
    (in_tmp / "s20_recompile_limit.py").touch()
    read = analysis("2.13.0", "s20_recompile_limit")
    allowed = Budgets(
        max_recompiles={"all": 0, "shape": 0},
        max_compile_seconds=0,
        max_graphs={"*": 0},
        no_limit_hit=True,
        no_eager_fallback=True,
        select=("ALL",),
    )
    checkout = Checkout()
    functions = considered(functions_of(read, checkout), allowed)
    results = sarif(check(read, functions, allowed), checkout)
    assert {result["ruleId"] for result in results} == {
        *("max-recompiles", "max-recompiles-shape", "max-compile-seconds", "max-graphs"),
        *("no-limit-hit", "no-eager-fallback", "PGO101", "PGO302"),
    }
    for result in results:
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "s20_recompile_limit.py"


def violation(text: str, line: int = 1, seconds: float = 0.0) -> Violation:
    return Violation(text, text, text, UserLine(text, line, text), text, text, seconds, text)


def test_fingerprints_stay_when_lines_move(in_tmp: Path) -> None:
    checkout = Checkout()
    one, moved, other = (
        sarif(Checked((item,), (), ()), checkout)[0]
        for item in (
            violation("max-graphs"),
            violation("max-graphs", line=90, seconds=3.0),
            violation("no-limit-hit"),
        )
    )
    assert (
        one["partialFingerprints"] == moved["partialFingerprints"] != other["partialFingerprints"]
    )


@pytest.mark.slow
def test_at_most_5000_results_the_most_expensive_ones(in_tmp: Path) -> None:
    many = tuple(violation("max-graphs", seconds=1.0) for _ in range(RESULTS + 1))
    assert len(sarif(Checked(many, (), ()), Checkout())) == 5_000


def test_annotations(in_tmp: Path) -> None:
    items = tuple(violation(f"a:b,c%{n}") for n in range(11))
    *shown, last = render_github(Checked(items, ("x",), ()), Checkout()).splitlines()
    assert len(shown) == 10
    assert shown[0] == (
        "::error title=a%3Ab%2Cc%250 (pgo-advisor),file=a%3Ab%2Cc%250,line=1::a:b,c%250%0Aa:b,c%250"
    )
    assert last == "Found 11 problems. Within its budget: x."


def test_hostile_texts(in_tmp: Path) -> None:
    items = tuple(
        Violation("max-graphs", text, text, UserLine(text, 1, text), text, text, 0.0, text)
        for text in TEXTS
    )
    checked = Checked(items, (), ())
    checkout = Checkout()
    for render in (render_text, render_github, render_sarif, render_junit):
        text = render(checked, checkout)
        assert not {"\x1b", "\u202e", "\x07"} & set(text)
        text.encode()
    assert len(sarif(checked, checkout)) == len(TEXTS)
    suites = ElementTree.fromstring(render_junit(checked, checkout))
    assert len(suites.findall(".//failure")) == len(TEXTS) == int(suites.attrib["failures"])
    assert all(
        line.startswith("::error title=max-graphs (pgo-advisor),file=")
        for line in render_github(checked, checkout).splitlines()[:-1]
    )


def test_junit_has_a_test_for_each_check(trace: Trace, in_tmp: Path) -> None:
    path = trace("2.13.0", "s20_recompile_limit")
    result = run(path, "--max-recompiles", "9", "--no-limit-hit", "--format", "junit=j.xml")
    assert (result.exit_code, result.stdout) == (1, "")
    suite = ElementTree.parse(in_tmp / "j.xml").getroot()[0]
    assert [case.attrib["name"] for case in suite] == [
        "no-limit-hit <lambda> recompile-limit",
        "max-recompiles",
    ]
    assert [len(case) for case in suite] == [1, 0]


def test_a_program_is_run_and_checked(box: Box) -> None:
    program = box.program(f"{COMPILE}\nprint('said')\n")
    done = box.run("check", "--max-recompiles", "0", "--", *program, cwd=box.folder)
    # sizes 3, 4, 5: the second makes it dynamic
    assert done.returncode == 1
    assert b"max-recompiles 1 recompiles, 0 allowed (f 1)" in done.stdout
    assert b"said" in done.stderr
    assert b"said" not in done.stdout
    assert box.run("check", "--max-recompiles", "1", "--", *program, cwd=box.folder).returncode == 0


def test_a_program_that_fails_does_not_pass(box: Box) -> None:
    failing = box.program(f"{COMPILE}\nraise SystemExit(7)\n")
    assert box.run("check", "--max-recompiles", "9", "--", *failing).returncode == 7
    nothing = box.run("check", "--", sys.executable, "-c", "pass")
    assert nothing.returncode == 3
    assert b"no compile was recorded" in nothing.stderr
