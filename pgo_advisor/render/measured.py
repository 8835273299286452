"""What was measured without and with the advice: its sentences, its table, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pgo_advisor.measured import Measured, Side, Spread, Way
from pgo_advisor.render.text import count, duration, one_line, span

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis

TOTALS = 5
"""Rows of the table that are about the whole program."""


_AND = " and "


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


def caution(analysis: Analysis) -> str:
    """What stands before the advice where other advice, or this, was rejected; else empty."""
    measured = analysis.measured
    if measured is None or not measured.rejected:
        return ""
    if measured.way is Way.list and measured.dynamic_sources != analysis.dynamic_sources:
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
        yield f"Marked: {_AND.join(measured.marks)}"
        if measured.dynamic_sources:
            yield f"Beside the marks the list was {measured.dynamic_sources}"
    if measured.broken_by:
        yield f"What breaks it: {'  '.join(measured.broken_by)}"
    if measured.unforeseen:
        yield f"Recompiles that are left and were not foreseen: {'; '.join(measured.unforeseen)}"
    if measured.useless:
        yield f"Useless: {'  '.join(measured.useless)}"
    if measured.smallest is not None:
        yield f"What is left: {_smallest(measured) or '(nothing)'}"
    yield from measured.notes
    yield (
        f"Measured in {measured.runs} runs at {measured.when} on {measured.machine}, "
        f"PyTorch {measured.torch_version or 'of a release that the trace does not tell'}."
    )


def as_dict(measured: Measured) -> dict[str, Any]:
    """By the schema's `measured`; a list for each run's figure, seconds of wall time."""
    predicted = measured.predicted
    return {
        "outcome": measured.outcome.value,
        "why": measured.why,
        "notes": list(measured.notes),
        "with": measured.way.value,
        "dynamic_sources": measured.dynamic_sources,
        "marks": list(measured.marks),
        "files": list(measured.files),
        "diff": measured.diff,
        "predicted_compiles": None if predicted is None else list(predicted),
        "before": _side(measured.before),
        "after": _side(measured.after),
        "frames": [
            {
                "name": frame.name,
                "file": frame.file,
                "line": frame.line,
                "predicted_compiles": None if frame.predicted is None else list(frame.predicted),
                "before": list(frame.before),
                "after": list(frame.after),
                "seconds_before": _seconds(frame.seconds_before),
                "seconds_after": _seconds(frame.seconds_after),
            }
            for frame in measured.frames
        ],
        "unforeseen": list(measured.unforeseen),
        "broken_by": list(measured.broken_by),
        "useless": list(measured.useless),
        "smallest": _smallest(measured),
        "runs": measured.runs,
        "machine": measured.machine,
        "torch_version": measured.torch_version,
        "when": measured.when,
    }


def _smallest(measured: Measured) -> str | None:
    """As a value for the variable, where it is a list."""
    separator = "," if measured.way is Way.list else _AND
    return None if measured.smallest is None else separator.join(measured.smallest)


def _side(side: Side) -> dict[str, Any]:
    return {
        "compiles": list(side.compiles),
        "compile_seconds": _seconds(side.compile_seconds),
        "wall_seconds": _seconds(side.wall),
        "rest_seconds": _seconds(side.rest),
        "exit_codes": list(side.exit_codes),
    }


def _seconds(spread: Spread) -> list[float]:
    return [round(value, 6) for value in spread.values]


def _counts(values: tuple[int, ...]) -> str:
    return str(values[0]) if len(set(values)) == 1 else f"{min(values)} to {max(values)}"


def _times(spread: Spread) -> str:
    middle = duration(spread.middle)
    if spread.low == spread.high:
        return middle
    return f"{middle} ({duration(spread.low)} to {duration(spread.high)})"
