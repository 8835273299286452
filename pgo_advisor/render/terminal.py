"""The analysis for a terminal: the details if they are wanted, then twenty lines that say what to do."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgo_advisor.render import calls
from pgo_advisor.render.brief import brief
from pgo_advisor.render.env import unbacked_option
from pgo_advisor.render.groups import processes
from pgo_advisor.render.measured import headline, sentences
from pgo_advisor.render.measured import table as measured_table
from pgo_advisor.render.text import (
    count,
    duration,
    one_line,
    place,
    span,
)
from pgo_advisor.report import (
    Advice,
    Cause,
    Fate,
    Finding,
    FrameReport,
    Recompile,
    Remedy,
    Report,
    Verdict,
)
from pgo_advisor.report.base import listed
from pgo_advisor.report.measured import Measured, Outcome

_MAX_FRAMES = 20
_MAX_ENTRIES = 40
_MAX_RECOMPILES = 60
_MAX_GROUPS = 12
_MAX_LINES = 4
_STYLES = {
    Verdict.marking_helps: "green",
    Verdict.marking_does_not_help: "yellow",
    Verdict.nothing_to_do: "dim",
}


def render_terminal(report: Report, *, width: int, color: bool, verbose: bool = True) -> str:
    """The report as text, with `verbose` in full; with `color`, with ANSI colors.

    Recorded text cannot bring escapes of its own.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    details = (*_details(report), Text()) if verbose else ()
    for part in (*_measured_of(report), *details, *brief(report, width)):
        # what is to be pasted stays in one line, however narrow the terminal is
        console.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _measured_of(report: Report) -> Iterator[RenderableType]:
    if report.measured is not None:
        yield from _measured(report.measured)


def _measured(measured: Measured) -> Iterator[RenderableType]:
    held = measured.outcome is Outcome.held
    yield Text(headline(measured), style="bold green" if held else "bold red")
    first, *others = sentences(measured)
    yield Text(one_line(first, 400), style="green" if held else "red")
    grid = _table()
    grid.add_column("measured", overflow="fold")
    for column in ("predicted", "without", f"with {measured.way.what}"):
        grid.add_column(column, justify="right")
    for row in measured_table(measured):
        grid.add_row(*(Text(cell) for cell in row))
    yield Padding(grid, (1, 0))
    for text in others:
        yield Text(one_line(text, 2000))
    yield Text()


def _details(report: Report) -> Iterator[RenderableType]:
    if report.frames:
        yield from _heading("Functions")
        yield _frames(report.frames[:_MAX_FRAMES])
        yield from _more(len(report.frames) - _MAX_FRAMES)
        for frame in report.frames[:_MAX_FRAMES]:
            for text in frame.unsure:
                yield Text(one_line(f"{frame.id}: not exact: {text}", 300), style="dim")
    if report.advice:
        yield from _heading("To declare dynamic")
        yield from _advice(report.advice)
        yield from _unbacked(report)
    if report.uncured:
        yield from _heading("Needs a change of code")
        yield from map(_finding, report.uncured)
    yield from _calls(report)
    yield from _notes(report)
    if lines := processes(report):
        yield from _heading("Processes")
        for line in lines[:_MAX_GROUPS]:
            yield Text(one_line(line, 300))
        yield from _more(len(lines) - _MAX_GROUPS, " groups: see --html or --json")
    if report.recompiles:
        shown = report.shown_recompiles
        yield from _heading("Recompiles")
        yield _recompiles(shown[:_MAX_RECOMPILES])
        yield from _more(len(shown) - _MAX_RECOMPILES, ": see --html or --json")


def _calls(report: Report) -> Iterator[RenderableType]:
    if report.calls:
        yield from _heading("Calls")
        for told in report.calls[:_MAX_FRAMES]:
            yield Text(one_line(f"{told.frame}: {count(told.calls, 'call')} of its graphs", 300))
            for text in calls.sentences(told):
                yield Padding(Text(one_line(text, 600)), (0, 0, 0, 4))
        yield from _more(len(report.calls) - _MAX_FRAMES)


def _notes(report: Report) -> Iterator[RenderableType]:
    if remarks := (*report.losses, *report.notes):
        yield from _heading("Notes")
        for text in remarks:
            yield Text(one_line(text, 600))


def _more(number: int, where: str = "", indent: str = "") -> Iterator[RenderableType]:
    if number > 0:
        yield Text(f"{indent}and {number} more{where}")


def _finding(finding: Finding) -> RenderableType:
    cost = ""
    if finding.compiles:
        took = f", {duration(finding.seconds)}" if finding.seconds else ""
        cost = f"  ({count(finding.compiles, 'recompile')}{took})"
    title = Text(f"{one_line(finding.summary, 300)}{cost}", style="bold")
    body = [
        Text(one_line(f"{line.place}  {line.code or ''}", 240).rstrip())
        for line in finding.lines[:_MAX_LINES]
    ]
    body.append(Text(one_line(finding.fix)))
    body += [Text(one_line(line, 240), style="dim") for line in finding.evidence[:4]]
    body.append(Text(f"pgo-advisor explain {finding.rule}", style="dim"))
    return Group(title, Padding(Group(*body), (0, 0, 0, 4)))


def _unbacked(report: Report) -> Iterator[RenderableType]:
    if option := unbacked_option(report):
        most = count(report.unbacked_saves, "compile")
        yield Text(
            f"Option, not predicted: these instead may save up to {most} "
            "more, for the sizes 0 and 1. They can also fail or cost compiles where code asks for the size."
        )
        for line in option.splitlines():
            yield Text(line, no_wrap=True)


def _heading(title: str) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold underline")


def _frames(frames: tuple[FrameReport, ...]) -> Table:
    table = _table()
    for column in ("compiles", "predicted", "time", "saved"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("function", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for frame in frames:
        table.add_row(
            str(frame.compiles),
            span(frame.predicted),
            duration(frame.seconds),
            duration(frame.saved_seconds) if frame.saved_seconds else "",
            Text(one_line(f"{frame.id}  {frame.file}:{frame.line}", 160)),
            Text(
                f"{frame.verdict.words}: {one_line(frame.why, 200)}", style=_STYLES[frame.verdict]
            ),
        )
    return table


def _advice(items: tuple[Advice, ...]) -> Iterator[RenderableType]:
    """A line for each entry of the list, then what is to be said of them, each sentence once."""
    entries: dict[tuple[object, tuple[str, ...]], list[Advice]] = defaultdict(list)
    for advice in items:
        entries[advice.list_entry or advice.pair, advice.frames].append(advice)
    functions_of = Counter(entry for entry, _ in entries)
    table = _table()
    for column in ("input", "in", "seen"):
        table.add_column(column, overflow="fold")
    table.add_column("how", no_wrap=True)
    table.add_column("worth", justify="right", no_wrap=True)
    remarks: dict[str, list[str]] = defaultdict(list)
    for (entry, _), members in list(entries.items())[:_MAX_ENTRIES]:
        name, functions = _name(members), one_line(", ".join(members[0].frames[:4]), 120)
        table.add_row(Text(name), Text(functions), *_worth(members))
        for text in _remarks(members[0]):
            remarks[text].append(f"{name} in {functions}" if functions_of[entry] > 1 else name)
    yield table
    yield from _more(len(entries) - _MAX_ENTRIES)
    yield Text("worth: without this entry, this many recompiles come back", style="dim")
    for text, names in remarks.items():
        yield Text(f"- {listed(names, 3, ' and {} more')}: {one_line(text, 400)}")


def _worth(members: list[Advice]) -> tuple[Text, str, str]:
    """What was seen, how to declare it, and what that saves."""
    seen = dict.fromkeys(", ".join(map(str, member.values[:12])) for member in members)
    saved = members[0].saved
    return (
        Text(one_line("; ".join(seen), 100)),
        members[0].remedy.value,
        "unknown" if saved is None else span(saved),
    )


def _name(members: list[Advice]) -> str:
    """What an entry covers: the first and the last of several."""
    if len(members) == 1:
        return place(members[0])
    one = len({member.source for member in members}) == 1
    what = f"({len(members)} {'dims' if one else 'inputs'})"
    return f"{place(members[0])} … {place(members[-1])} {what}"


def _remarks(advice: Advice) -> Iterator[str]:
    if advice.remedy is not Remedy.mark_dynamic:
        yield f"{advice.remedy.value}, since {advice.why_remedy}"
    if advice.condition:
        yield f"{advice.condition}: no mark can stand before all calls"
    if advice.list_entry is None:
        yield "the list of this release cannot name it"
    if advice.together:
        others = ", ".join(other.pair.words for other in advice.together[:6])
        yield f"the code requires it to equal {others}: declare all of them or none"
    yield from advice.costs
    if advice.also_touches:
        yield f"the entry also touches {', '.join(advice.also_touches[:6])}, where it does not help"


def _recompiles(recompiles: tuple[tuple[str, Recompile], ...]) -> Table:
    ranked = any(ranks for ranks, _ in recompiles)
    table = _table()
    if ranked:
        table.add_column("rank", justify="right")
    table.add_column("id", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("function", overflow="fold")
    table.add_column("why", overflow="fold")
    table.add_column("", no_wrap=True)
    for ranks, recompile in recompiles:
        row = [one_line(ranks, 20)] if ranked else []
        row += [one_line(recompile.compile_id, 40), duration(recompile.seconds)]
        table.add_row(
            *row,
            Text(one_line(recompile.frame, 60)),
            Text("; ".join(map(_cause, recompile.causes[:4]))),
            Text(recompile.fate.words, style="" if recompile.fate is Fate.stays else "green"),
        )
    return table


def _cause(cause: Cause) -> str:
    return one_line(" ".join(filter(None, [cause.kind.value, cause.where, cause.change])), 160)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
