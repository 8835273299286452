"""The analysis for a terminal: ten lines that say what to do, then the details."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgo_advisor.analysis import Analysis
from pgo_advisor.measured import Measured, Outcome
from pgo_advisor.render.measured import caution, headline, sentences
from pgo_advisor.render.measured import table as measured_table
from pgo_advisor.render.report import processes
from pgo_advisor.render.text import (
    cost,
    count,
    duration,
    one_line,
    place,
    saved,
    span,
    unbacked_option,
)
from pgo_advisor.report import Advice, FrameReport, Recompile, Remedy, Verdict

_MAX_FRAMES = 20
_MAX_ENTRIES = 40
_MAX_RECOMPILES = 60
_MAX_GROUPS = 12
_STYLES = {
    Verdict.marking_helps: "green",
    Verdict.marking_does_not_help: "yellow",
    Verdict.nothing_to_do: "dim",
}


def render_terminal(analysis: Analysis, *, width: int, color: bool) -> str:
    """The report as text; with `color`, with ANSI colors. Recorded text cannot bring escapes of its own."""
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
    for part in (*_answer(analysis), *_details(analysis)):
        # what is to be pasted stays in one line, however narrow the terminal is
        console.print(part, soft_wrap=isinstance(part, Text) and bool(part.no_wrap))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _answer(analysis: Analysis) -> Iterator[RenderableType]:
    totals = analysis.totals
    if analysis.measured is not None:
        yield from _measured(analysis.measured)
    if totals.compiles:
        yield Text(f"{cost(totals)}.", style="bold")
    if analysis.advice:
        if totals.compiles and analysis.measured is None:
            seconds = f" and {saved(totals)} of compiling go" if totals.seconds else ""
            yield Text(
                f"Declared dynamic as below, {count(totals.compiles, 'compile')} become "
                f"{span(totals.predicted)}{seconds} (predicted, not measured)."
            )
        yield Text()
        if warning := caution(analysis):
            yield Text(f"{warning}:", style="bold red")
        if analysis.dynamic_sources:
            yield Text(analysis.env("shell").rstrip(), style="bold green", no_wrap=True)
            yield Text()
        marks = [advice for advice in analysis.advice if advice.code and not advice.condition]
        if marks:
            instead = "or " if analysis.dynamic_sources else ""
            part = "" if len(marks) == len(analysis.advice) else "in part "
            yield Text(
                f"{instead}{part}in the code, before the call (pgo-advisor snippet shows where):"
            )
            several = len({advice.frames for advice in marks}) > 1
            for advice in marks[:4]:
                function = f"  # {', '.join(advice.frames[:4])}" if several else ""
                statement = one_line(f"{advice.code}{function}", 200)
                yield Text(f"    {statement}", style="green", no_wrap=True)
            if len(marks) > 4:
                yield Text(f"    and {len(marks) - 4} more")
    elif totals.recompiles:
        yield Text("No declaration of dynamic inputs would save a compile; what would, is below.")
    elif totals.unfinished:
        yield Text(
            "No recompile is recorded, but the log ends within a compile: what came then is unknown."
        )
    elif totals.compiles:
        yield Text("Nothing to do: nothing was compiled twice.", style="green")
    else:
        yield Text("From a profile: which sizes varied is known, what that cost is not.")
    for loss in analysis.losses:
        yield Text(f"Lost: {one_line(loss, 400)}", style="red")
    for note in analysis.notes:
        yield Text(f"Note: {one_line(note, 600)}", style="yellow")


def _measured(measured: Measured) -> Iterator[RenderableType]:
    held = measured.outcome is Outcome.held
    yield Text(headline(measured), style="bold green" if held else "bold red")
    first, *others = sentences(measured)
    yield Text(one_line(first, 400), style="green" if held else "red")
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("measured", overflow="fold")
    for column in ("predicted", "without", f"with {measured.way.what}"):
        grid.add_column(column, justify="right")
    for row in measured_table(measured):
        grid.add_row(*(Text(cell) for cell in row))
    yield Padding(grid, (1, 0))
    for text in others:
        yield Text(one_line(text, 2000))
    yield Text()


def _details(analysis: Analysis) -> Iterator[RenderableType]:
    if analysis.frames:
        yield from _heading("Functions")
        yield _frames(analysis.frames[:_MAX_FRAMES])
        if len(analysis.frames) > _MAX_FRAMES:
            yield Text(f"and {len(analysis.frames) - _MAX_FRAMES} more")
        for frame in analysis.frames[:_MAX_FRAMES]:
            for text in frame.unsure:
                yield Text(one_line(f"{frame.id}: a range, since {text}", 300), style="dim")
    if analysis.advice:
        yield from _heading("To declare dynamic")
        yield from _advice(analysis.advice)
        yield from _unbacked(analysis)
    if analysis.findings:
        yield from _heading("What marking does not cure")
        for finding in analysis.findings:
            cost = ""
            if finding.compiles:
                took = f", {duration(finding.seconds)}" if finding.seconds else ""
                cost = f"  ({count(finding.compiles, 'recompile')}{took})"
            title = Text(f"{one_line(finding.summary, 300)}{cost}", style="bold")
            body = [Text(one_line(finding.fix))]
            body += [Text(one_line(line, 240), style="dim") for line in finding.evidence[:4]]
            body.append(Text(f"pgo-advisor explain {finding.rule}", style="dim"))
            yield Group(title, Padding(Group(*body), (0, 0, 0, 4)))
    if lines := processes(analysis):
        yield from _heading("Processes")
        for line in lines[:_MAX_GROUPS]:
            yield Text(one_line(line, 300))
        if len(lines) > _MAX_GROUPS:
            yield Text(f"and {len(lines) - _MAX_GROUPS} more groups: see --html or --json")
    if analysis.recompiles:
        shown = analysis.shown_recompiles
        yield from _heading("Recompiles")
        yield _recompiles(shown[:_MAX_RECOMPILES])
        if len(shown) > _MAX_RECOMPILES:
            yield Text(f"and {len(shown) - _MAX_RECOMPILES} more: see --html or --json")


def _unbacked(analysis: Analysis) -> Iterator[RenderableType]:
    if option := unbacked_option(analysis):
        most = count(analysis.advised.unbacked_saves, "compile")
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
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
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
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("input", overflow="fold")
    table.add_column("in", overflow="fold")
    table.add_column("seen", overflow="fold")
    table.add_column("how", no_wrap=True)
    table.add_column("worth", justify="right", no_wrap=True)
    remarks: dict[str, list[str]] = defaultdict(list)
    for key, members in list(entries.items())[:_MAX_ENTRIES]:
        first = members[0]
        name = place(first)
        if len(members) > 1:
            one = len({member.source for member in members}) == 1
            name += f" … {place(members[-1])} ({len(members)} {'dims' if one else 'inputs'})"
        seen = dict.fromkeys(
            ", ".join(str(value) for value in member.values[:12]) for member in members
        )
        table.add_row(
            Text(name),
            Text(one_line(", ".join(first.frames[:4]), 120)),
            Text(one_line("; ".join(seen), 100)),
            first.remedy.value,
            "unknown" if first.saved is None else span(first.saved),
        )
        several = sum(entry == key[0] for entry, _ in entries) > 1
        for text in _remarks(first):
            functions = one_line(", ".join(first.frames[:4]), 120)
            remarks[text].append(f"{name} in {functions}" if several else name)
    yield table
    if len(entries) > _MAX_ENTRIES:
        yield Text(f"and {len(entries) - _MAX_ENTRIES} more")
    yield Text("worth: compiles that leaving out this entry alone would cost", style="dim")
    for text, names in remarks.items():
        named = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield Text(f"- {named}: {one_line(text, 400)}")


def _remarks(advice: Advice) -> Iterator[str]:
    if advice.remedy is not Remedy.mark_dynamic:
        yield f"{advice.remedy.value}, since {advice.why_remedy}"
    if advice.condition:
        yield f"{advice.condition}: no mark can stand before all calls"
    if advice.list_entry is None:
        yield "the list of this release cannot name it"
    if advice.together:
        others = ", ".join(f"{pair.source} dim {pair.dim}" for pair in advice.together[:6])
        yield f"has to equal {others}: declare all or none"
    yield from advice.price
    if advice.also_touches:
        yield f"the entry also touches {', '.join(advice.also_touches[:6])}, where it does not help"


def _recompiles(recompiles: tuple[tuple[str, Recompile], ...]) -> Table:
    ranked = any(ranks for ranks, _ in recompiles)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
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
            Text(
                "; ".join(
                    one_line(
                        " ".join(filter(None, [cause.kind.value, cause.where, cause.change])), 160
                    )
                    for cause in recompile.causes[:4]
                )
            ),
            Text("goes", style="green") if recompile.removed else "",
        )
    return table
