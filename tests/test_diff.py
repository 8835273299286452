"""`pgo-advisor diff`: what came, went and changed; and that nothing else is told."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import TRACES, Trace, recorded
from hostile import TEXTS, hostile
from markdown_it import MarkdownIt
from msgspec.structs import replace
from sample_repository import LINE, Repository

from pgo_advisor.analysis import Analysis
from pgo_advisor.cli import main
from pgo_advisor.compare.functions import Again, Function, Signature
from pgo_advisor.compare.match import pairs, unmatched
from pgo_advisor.compare.places import Checkout
from pgo_advisor.diff.changes import Difference, difference
from pgo_advisor.diff.html import render_html
from pgo_advisor.diff.markdown import SUMMARY_LIMIT, render_markdown
from pgo_advisor.diff.text import render_text
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.json import as_dict
from pgo_advisor.render.markdown import LIMIT, MARKER
from pgo_advisor.report import UserLine

Read = Callable[[str, str], Analysis]


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, ["diff", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_commit_that_recompiles_and_its_mending(
    sample: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample.root)
    sample.check_out("regressed")
    traces = sample.traces
    lines = run(traces["base"], traces["regressed"]).stdout.splitlines()
    # Attention: 1 → 4 compiles; Head: twice in both
    assert lines[0] == "3 → 6 compiles, 1 → 4 recompiles."
    assert "Attention.forward  model.py:10  1 → 4 compiles" in lines
    assert "  + 3 recompiles came: int-value L['self'].step (0 → 1)" in lines
    assert "    guard: self.step == 0" in lines
    assert f"    model.py:{LINE} | self.step += 1" in lines
    assert lines[-1] == "1 other function as before."
    sample.check_out("mended")
    back = run(traces["regressed"], traces["mended"]).stdout
    assert "  - 3 recompiles went: int-value L['self'].step" in back
    same = run(traces["base"], traces["mended"]).stdout
    assert same.startswith("No difference: 3 compiles, 1 recompile.\n")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.13.0", "2.15.0", "2.7.1"])
def test_two_releases_differ_in_what_they_do(version: str, analysis: Read, tmp_path: Path) -> None:
    """An int of a module stays static since 2.8; nothing else that these programs do changed."""
    told = {}
    for name in recorded(version):
        if (TRACES / "2.13.0" / f"{name}.log.gz").exists() or (TRACES / "2.13.0" / name).exists():
            found = difference(
                analysis(version, name), analysis("2.13.0", name), Checkout(tmp_path)
            )
            if not found.same:
                told[name] = [(c.before, c.after) for c in found.functions]
    # steps 3, 4, 5, 6, 7: two graphs, or one for each
    assert told == ({"s08_module_int_attr": [(2, 5)]} if version == "2.7.1" else {})


def moved(log: Path, target: Path, by: int) -> Path:
    """The recording as of a file in which the code stands further down, in another directory."""
    text = gzip.decompress(log.read_bytes()).decode()
    name = log.name.removesuffix(".log.gz")
    text = re.sub(
        r'("line": ?|"co_firstlineno": ?|, line |\.py:)(\d+)',
        lambda match: f"{match[1]}{int(match[2]) + by}",
        text,
    )
    text = re.sub(r"(_at_)(\d+)", lambda match: f"{match[1]}{int(match[2]) + by}", text)
    target.write_text(text.replace("/home/user/app/", "/srv/checkout/src/"))
    assert name in text
    return target


@pytest.mark.parametrize(
    "name", ["s07_graph_break_resume", "t52_three_regions_one_name", "s10_user_branch"]
)
def test_moved_lines_are_no_difference(name: str, analysis: Read, tmp_path: Path) -> None:
    import pgo_advisor

    there = moved(TRACES / "2.13.0" / f"{name}.log.gz", tmp_path / "moved.log", 40)
    other = pgo_advisor.analyze(there)
    here = analysis("2.13.0", name)
    assert {f.line + 40 for f in here.frames} == {f.line for f in other.frames}
    assert difference(here, other, Checkout(tmp_path)).same


def test_ranks_and_their_number_are_no_difference(trace: Trace, tmp_path: Path) -> None:
    logs = sorted(trace("2.13.0", "m01_two_ranks").iterdir())
    for folder, numbers in (("few", (0, 1)), ("many", (5, 9, 2, 3))):
        (tmp_path / folder).mkdir()
        for index, rank in enumerate(numbers):
            name = f"dedicated_log_torch_trace_rank_{rank}_a.log"
            (tmp_path / folder / name).write_bytes(logs[index % 2].read_bytes())
    assert run(tmp_path / "few", tmp_path / "many").stdout.startswith("No difference")


def function(name: str, line: int, *traits: str, **more: object) -> Function:
    made = Function(name, name, None, "a.py", line, 1, 1, 0.0, (), frozenset(traits))
    return replace(made, **more)


def lines(before: list[Function], after: list[Function]) -> set[tuple[int | None, int | None]]:
    return {
        (old.line if old else None, new.line if new else None) for old, new in pairs(before, after)
    }


def test_functions_of_one_name_are_told_apart() -> None:
    query, key = function("f", 3, "L['q']"), function("f", 9, "L['k']")
    # one was put before the other; then one was added, which looks like neither
    assert lines([query, key], [function("f", 3, "L['k']"), function("f", 9, "L['q']")]) == {
        (3, 9),
        (9, 3),
    }
    new = function("f", 1, "L['z']")
    assert lines([query, key], [new, function("f", 5, "L['q']"), function("f", 12, "L['k']")]) == {
        (None, 1),
        (3, 5),
        (9, 12),
    }
    named = [function("f", 1, qualified="A.f"), function("f", 2, qualified="B.f")]
    assert lines(named, [function("f", 7, qualified="B.f")]) == {(2, 7), (1, None)}
    assert lines([query], [function("f", 8, file="other/b.py")]) == {(3, 8)}
    assert lines([query], [function("g", 3, "L['q']")]) == {(3, None), (None, 3)}


def test_many_functions_of_one_name_take_no_quadratic_time() -> None:
    many = [function("f", line) for line in range(20_000)]
    assert all(old == new for old, new in pairs(many, many))


def again(cause: str, input_: str = "") -> Again:
    return Again(Signature(cause, input_), "0/1", "", "", 1.0, UserLine("a.py", 1), "stride", "")


def test_recompiles_are_compared_by_their_number() -> None:
    went, came = unmatched([again("a")] * 3 + [again("b")], [again("a")] * 1 + [again("c")])
    assert [item.signature.cause for item in went] == ["a", "a", "b"]
    assert [item.signature.cause for item in came] == ["c"]


def test_a_cause_that_changed(analysis: Read, tmp_path: Path) -> None:
    before = analysis("2.13.0", "s12_dtype")
    kind = before.recompiles[0].causes[0]
    other = tuple(
        replace(r, causes=(replace(kind, kind=CauseKind.tensor_rank, source="L['y']"),))
        for r in before.recompiles
    )
    told = difference(before, replace(before, recompiles=other), Checkout(tmp_path))
    (change,) = told.functions[0].changes
    assert str(change.was).startswith("tensor-dtype")
    assert str(change.now).startswith("tensor-rank L['y']")
    assert "  ~ " in render_text(told)


@pytest.fixture(scope="module")
def hostile_difference(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Difference:
    import pgo_advisor

    read = pgo_advisor.analyze(trace("2.13.0", "t52_three_regions_one_name"))
    return difference(read, hostile(read, 40), Checkout(tmp_path_factory.mktemp("root")))


def test_hostile_texts(hostile_difference: Difference) -> None:
    told = hostile_difference
    assert not told.same
    page = render_html(told)
    assert "<script>alert" not in page
    assert "<img" not in page
    for text in (page, render_text(told), render_markdown(told)):
        assert not {"\x1b", "\u202e", "\x07"} & set(text)
        text.encode()
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(render_markdown(told))
    assert "<script" not in html
    assert "<img" not in html
    assert "<a " not in html
    json.dumps(as_dict(told))


def test_a_comment_is_never_too_long(hostile_difference: Difference) -> None:
    told = hostile_difference
    many = replace(told, functions=told.functions * 200, unchanged=tuple(TEXTS * 1000))
    comment, summary = render_markdown(many), render_markdown(many, SUMMARY_LIMIT)
    assert len(comment.encode()) <= LIMIT < len(summary.encode()) <= SUMMARY_LIMIT
    assert comment.startswith(f"{MARKER}\n**")
    assert "the step's summary" in comment


def test_what_was_lost_is_told(trace: Trace, tmp_path: Path) -> None:
    whole = trace("2.13.0", "s01_batch_dim")
    cut = tmp_path / "cut.log"
    text = whole.read_bytes()
    cut.write_bytes(text[: text.rindex(b'"compilation_metrics"') - 1000])
    done = run(whole, cut, "--markdown", tmp_path / "m", "--html", tmp_path / "h")
    assert "\nLost: " in done.stdout
    assert "**Lost:** " in (tmp_path / "m").read_text()
    assert "<b>Lost</b>" in (tmp_path / "h").read_text()


def test_outputs(trace: Trace, tmp_path: Path) -> None:
    paths = trace("2.13.0", "s01_batch_dim"), trace("2.13.0", "s12_dtype")
    names = ("html", "markdown", "json")
    options = [word for name in names for word in (f"--{name}", tmp_path / name)]
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    done = run(*paths, "-q", *options, "--summary", summary)
    assert (done.exit_code, done.output) == (0, "")
    told = json.loads((tmp_path / "json").read_text())
    assert told["same"] is False
    assert (tmp_path / "markdown").read_text().startswith(MARKER)
    assert summary.read_text().startswith(f"before\n{MARKER}")
    assert "<h1>" in (tmp_path / "html").read_text()
    assert run(*paths, *options).exit_code == 2
    assert run(paths[0], tmp_path / "nothing").exit_code == 3
    assert run(paths[0]).exit_code == 2
