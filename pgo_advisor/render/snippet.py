"""The advice as Python: marks grouped by call site, and what the list has to do instead."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator

from pgo_advisor.render.env import export
from pgo_advisor.render.text import one_line
from pgo_advisor.report import Advice, FrameReport, Remedy, Report

_WIDTH = 96
_COMPOUND = [["for"], ["while"], ["with"], ["if"], ["async"]]


def render_snippet(report: Report) -> str:
    """Statements to paste before the calls, as valid Python; comments say where, and what they cannot do.

    They are in terms of the compiled function's own arguments, as the trace names these. The text ends in a
    newline.
    """
    marks: dict[str, list[Advice]] = defaultdict(list)
    unmarkable: list[Advice] = []
    for advice in report.advice:
        if advice.code is None:
            unmarkable.append(advice)
        else:
            for frame in advice.frames:
                marks[frame].append(advice)
    if not report.advice:
        return "# Nothing to mark: no recorded recompile would be saved by it.\n"
    lines: list[str] = []
    if marks:
        lines += ["import torch._dynamo", ""]
    frames = {frame.id: frame for frame in report.frames}
    for name, members in marks.items():
        lines += [*_before(frames[name]), *_statements(members), ""]
    if unmarkable:
        lines += _list_only(report, unmarkable)
    return "\n".join(lines).rstrip() + "\n"


def _before(frame: FrameReport) -> Iterator[str]:
    yield from _comment(f"{frame.name}, {frame.file}:{frame.line}")
    if not frame.call_sites:
        yield from _comment(
            "The trace does not tell where it is called. Before each call, in ordinary Python:"
        )
        return
    for site in frame.call_sites:
        inside = (site.code or "").split()[:1] in _COMPOUND
        place = "inside of this statement, before the call" if inside else "before the call"
        yield from _comment(f"{place} at {site.file}:{site.line}")
        if site.code:
            yield from _comment(f"    {site.code}")
    yield from _comment(f"in terms of the arguments of {frame.name}:")


def _statements(members: list[Advice]) -> Iterator[str]:
    for group in _equal_ones(members):
        if len(group) > 1:
            yield from _comment("The code requires these to be equal: mark all of them or none.")
        for item in group:
            yield from _statement(item)
    firm = [m for m in members if m.remedy is Remedy.mark_dynamic and not m.condition]
    if firm:
        sizes = [value for value in firm[0].values if isinstance(value, int)]
        yield from _comment(
            f"Bounds are possible, such as min={min(sizes)}, max={max(sizes)} for the first; but a size "
            "outside of them ends the program."
        )


def _equal_ones(members: list[Advice]) -> Iterator[list[Advice]]:
    """The inputs, each once, behind the first of those that have to be equal."""
    left = {item.pair: item for item in reversed(members)}
    for item in members:
        equal = {item.pair, *(other.pair for other in item.together)}
        group = [left.pop(m.pair) for m in members if m.pair in equal and m.pair in left]
        if group:
            yield group


def _statement(item: Advice) -> Iterator[str]:
    if item.remedy is Remedy.maybe_mark_dynamic:
        yield from _comment(f"maybe_, since {item.why_remedy}")
    seen = one_line(", ".join(map(str, item.values[:10])), 120)
    if item.condition:
        yield from _comment(f"Only where it is a tensor: {item.condition}.")
        yield from _comment(f"    {item.code}  # seen: {seen}", wrap=False)
    else:
        yield f"{item.code}  # seen: {seen}"


def _list_only(report: Report, unmarkable: list[Advice]) -> Iterator[str]:
    yield from _comment("These cannot be marked. In the environment, before torch is imported:")
    yield from _comment(f"    {export(report).strip()}", wrap=False)
    for advice in unmarkable:
        yield from _comment(f"- {advice.pair.words}: {advice.why_remedy}")


def _comment(text: str, *, wrap: bool = True) -> list[str]:
    """Recorded text can hold anything: in a comment it must not end the line."""
    indent = " " * (len(text) - len(text.lstrip()))
    clean = one_line(text, 2000 if wrap else 0)
    if not wrap:
        return [f"# {indent}{clean}"]
    return [
        f"# {indent}{line}"
        for line in textwrap.wrap(clean, _WIDTH, break_long_words=False, break_on_hyphens=False)
        or [""]
    ]
