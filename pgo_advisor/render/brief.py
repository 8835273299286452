"""What a terminal shows at once: at most twenty lines, the summary last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from rich.text import Text

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.answer import answer, severe, sure
from pgo_advisor.render.env import export
from pgo_advisor.render.measured import caution
from pgo_advisor.render.text import count, duration, one_line, place, spent
from pgo_advisor.report import Advice, Finding, Opportunity, Report
from pgo_advisor.report.base import listed

LINES = 20
_MARKS = 3
_REMARKS = 2


def brief(report: Report, width: int) -> list[Text]:
    """The lines; only what is to be pasted may be longer than `width`."""
    end = [*_paste(report, width), *_remarks(report, width), *_summary(report, width)]
    return [*_as_fit(list(_parts(report, width)), LINES - len(end)), *end]


def _as_fit(parts: Sequence[list[Text]], room: int) -> Iterator[Text]:
    """Whole parts, and how many are left out."""
    for index, part in enumerate(parts):
        left = len(parts) - index
        if len(part) + (left > 1) > room:
            yield Text(f"and {left} more: see -v")
            return
        room -= len(part)
        yield from part


def _parts(report: Report, width: int) -> Iterator[list[Text]]:
    """Each change to declare, and each to make in the code, by seconds."""
    told = [(one.saved_seconds, _opportunity(report, one, width)) for one in report.opportunities]
    told += [(found.seconds, _finding(found, width)) for found in report.uncured]
    yield from (lines for _, lines in sorted(told, key=lambda part: -part[0]))


def _opportunity(report: Report, one: Opportunity, width: int) -> list[Text]:
    items = [report.advice[index] for index in one.advice]
    names = listed([place(item) for item in items], 2, " and {} more")
    took = f", {spent(one.least_saved_seconds, one.saved_seconds)}" if one.saved_seconds else ""
    known = report.totals.compiles and one.saved_compiles.high
    gain = f" (saves {count(one.saved_compiles, 'compile')}{took})" if known else ""
    seen = listed(sizes(report, items[0]), 12, ", …")
    # a function that only a profile names has no compiles
    places = {frame.id: f"{frame.name}, {frame.file}:{frame.line}" for frame in report.frames}
    where = f"in {places.get(one.frames[0], one.frames[0])}"
    return [
        _line(f"Declare {names}{gain}", width, "bold"),
        _line(f"    seen: {seen}; {where}", width),
        *(_line(f"    {text}", width, "dim") for text in items[0].costs[:1]),
    ]


def sizes(report: Report, item: Advice) -> list[str]:
    """The sizes or values that were met, with that of the call that hit the recompile limit."""
    met = (
        cause.actual
        for recompile in report.recompiles
        if recompile.frame in item.frames
        for cause in recompile.causes
        if (cause.source, cause.dim) == item.pair
        and cause.kind is not CauseKind.tensor_stride
        and (cause.actual or "").isdecimal()
    )
    return list(
        dict.fromkeys(one_line(text, 40) for text in chain(map(str, item.values), met) if text)
    )


def _finding(found: Finding, width: int) -> list[Text]:
    took = f", {duration(found.seconds)}" if found.seconds else ""
    cost = f"  ({count(found.compiles, 'recompile')}{took})" if found.compiles else ""
    room = max(20, width - len(cost))
    lines = [Text(f"{_cut(found.summary, room)}{cost}", style="bold")]
    lines += [
        _line(f"    {line.place}  {one_line(line.code or '')}".rstrip(), width)
        for line in found.lines[:1]
    ]
    return [*lines, _line(f"    {found.fix}", width)]


def _paste(report: Report, width: int) -> Iterator[Text]:
    if warning := caution(report):
        yield _line(f"{warning}:", width, "bold red")
    if report.dynamic_sources:
        yield Text("Set this before the program starts:")
        yield Text(export(report).rstrip(), style="bold green", no_wrap=True)
    marks = [advice for advice in report.advice if advice.code and not advice.condition]
    if not marks:
        return
    part = "" if len(marks) == len(report.advice) else "for a part of it, "
    instead = "Or, " if report.dynamic_sources else ""
    yield _line(f"{instead}{part}in the code before the call (see pgo-advisor snippet):", width)
    for advice in marks[:_MARKS]:
        yield Text(f"    {one_line(advice.code or '', 200)}", style="green", no_wrap=True)
    if len(marks) > _MARKS:
        yield Text(f"    and {len(marks) - _MARKS} more")


def _remarks(report: Report, width: int) -> Iterator[Text]:
    told = [("Lost", loss, "red") for loss in report.losses]
    told += [("Note", note, "yellow") for note in report.notes]
    for kind, text, style in told[:_REMARKS]:
        yield _line(f"{kind}: {text}", width, style)
    if len(told) > _REMARKS:
        yield Text(f"and {len(told) - _REMARKS} more notes: see -v", style="yellow")


def _summary(report: Report, width: int) -> Iterator[Text]:
    for text in severe(report):
        yield _line(text, width, "bold red")
    headline, sentence = answer(report)
    yield _line(f"{headline}.", width, "bold green" if report.advice else "bold")
    yield _line(sentence, width)
    if chip := sure(report):
        yield _line(chip, width)


def _line(text: str, width: int, style: str = "") -> Text:
    return Text(_cut(text, width), style=style, no_wrap=True)


def _cut(text: str, width: int) -> str:
    indent = len(text) - len(text.lstrip())
    shown = " " * indent + one_line(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
