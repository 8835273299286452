"""What was measured without and with the advice: its sentences and its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pgo_advisor.render.text import count, duration, one_line, span
from pgo_advisor.report import Report
from pgo_advisor.report.measured import Measured, Spread, Way

TOTALS = 5
"""Rows of the table that are about the whole program."""


class Row(NamedTuple):
    """A line of the table, as text; the figures of several runs as `middle (low to high)`."""

    what: str
    predicted: str
    before: str
    after: str


def headline(measured: Measured) -> str:
    """`9 compiles → 1, 41.0 s → 6.0 s of compiling, measured`."""
    before, after = measured.before, measured.after
    return (
        f"{_counts(before.compiles)} compiles → {_counts(after.compiles)}, "
        f"{duration(before.compile_seconds.middle)} → {duration(after.compile_seconds.middle)} of compiling, "
        "measured"
    )


def verdict(measured: Measured) -> str:
    """Whether the advice held, without recorded text."""
    what = "The advice, as marks" if measured.way is Way.mark else "The advice"
    return f"{what}: {measured.why}.{' Do not use it as it stands.' if measured.rejected else ''}"


def caution(report: Report) -> str:
    """What stands before the advice where other advice, or this, was rejected; else empty."""
    measured = report.measured
    if measured is None or not measured.rejected:
        return ""
    if measured.way is Way.list and measured.dynamic_sources != report.dynamic_sources:
        return "What the run without advice shows; this was not tried"
    return "What was tried, and is not to be used as it stands"


def table(measured: Measured) -> list[Row]:
    """The whole program first, then each compiled function."""
    before, after = measured.before, measured.after
    predicted = "" if measured.predicted is None else span(measured.predicted)
    rows = [
        Row("compiles", predicted, _counts(before.compiles), _counts(after.compiles)),
        Row("compiling", "", _times(before.compile_seconds), _times(after.compile_seconds)),
        Row("whole program", "", _times(before.wall), _times(after.wall)),
        Row("all but compiling", "", _times(before.rest), _times(after.rest)),
        Row("exit code", "", _counts(before.exit_codes), _counts(after.exit_codes)),
    ]
    for frame in measured.frames:
        rows.append(
            Row(
                one_line(f"{frame.name}  {frame.file}:{frame.line}", 120),
                "" if frame.predicted is None else span(frame.predicted),
                f"{_counts(frame.before)}, {_times(frame.seconds_before)}",
                f"{_counts(frame.after)}, {_times(frame.seconds_after)}",
            )
        )
    return rows


def sentences(measured: Measured) -> Iterator[str]:
    """All that is to be said besides the figures. Recorded text in it is not yet made harmless."""
    yield verdict(measured)
    if measured.way is Way.mark:
        inputs = count(len(measured.marks), "input")
        yield f"The copy has {inputs} marked in {', '.join(measured.files)}"
        yield f"Marked: {measured.way.joined(measured.marks)}"
        if measured.dynamic_sources:
            yield f"Beside the marks the list was {measured.dynamic_sources}"
    if measured.broken_by:
        yield f"What breaks it: {'  '.join(measured.broken_by)}"
    if measured.unforeseen:
        yield f"Recompiles that are left and were not foreseen: {'; '.join(measured.unforeseen)}"
    if measured.useless:
        yield f"Useless: {'  '.join(measured.useless)}"
    if measured.smallest is not None:
        yield f"What is left: {measured.smallest or '(nothing)'}"
    yield from measured.notes
    yield (
        f"Measured in {measured.runs} runs at {measured.when} on {measured.machine}, "
        f"PyTorch {measured.torch_version or 'of a release that the trace does not tell'}."
    )


def _counts(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)} to {max(values)}"


def _times(spread: Spread) -> str:
    middle = duration(spread.middle)
    if spread.low == spread.high:
        return middle
    return f"{middle} ({duration(spread.low)} to {duration(spread.high)})"
