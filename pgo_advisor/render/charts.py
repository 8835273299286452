"""The geometry of the report's pictures, in percent of their width; the templates draw them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pgo_advisor.render.compiles import CompileRow
from pgo_advisor.render.text import count, duration
from pgo_advisor.report import Fate, Report

_MAX_DOTS = 200


class Part(NamedTuple):
    """A part of a bar; `x` and `width` in percent."""

    css: str
    x: float
    width: float
    words: str
    told: str
    """How much it is, with its unit."""


def balance_bar(report: Report) -> list[Part]:
    """Of all compiling: needed, avoidable for sure, avoidable perhaps, staying; what is nothing is left out.

    In seconds, or compiles where the record has no durations.
    """
    needed, again, most, least, told = _amounts(report)
    certain = "avoidable, at least" if most - least > 1e-6 else "avoidable"
    perhaps = "avoidable, up to this much more" if least else "avoidable, up to"
    drawn, at = [], 0.0
    parts = (
        ("needed", "needed: first compiles", needed),
        (Fate.goes.value, certain, least),
        (Fate.may_go.value, perhaps, most - least),
        (Fate.stays.value, "stays: no declaration helps", again - most),
    )
    whole = sum(amount for *_, amount in parts if amount > 1e-6)
    for css, words, amount in parts:
        if amount > 1e-6:
            width = 100 * amount / whole
            drawn.append(Part(css, at, width, words, told(amount)))
            at += width
    return drawn


def _amounts(report: Report) -> tuple[float, float, float, float, Callable[[float], str]]:
    """First compiles, recompiles, what of these goes at the most and at the least, and how to tell them."""
    totals = report.totals
    if totals.seconds:
        first = totals.seconds - totals.recompile_seconds
        saved = totals.saved_seconds, totals.least_saved_seconds
        return first, totals.recompile_seconds, *saved, duration
    most = sum(recompile.fate is not Fate.stays for recompile in report.recompiles)
    highs = ((frame.compiles, frame.predicted.high) for frame in report.frames)
    least = sum(max(0, compiles - high) for compiles, high in highs if high is not None)
    first = totals.compiles - totals.recompiles
    return first, totals.recompiles, most, least, lambda number: count(round(number), "compile")


class Legend(NamedTuple):
    """A color, what it means, and how much is drawn of it."""

    css: str
    words: str
    compiles: int
    seconds: float


def legend(rows: Iterable[CompileRow]) -> list[Legend]:
    """What becomes of these compiles."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        found[row.css].append(row.seconds)
    words = {
        "needed": "first compile, needed",
        Fate.goes.value: "goes with the advice",
        Fate.may_go.value: "may go with the advice",
        Fate.stays.value: "stays",
    }
    return [
        Legend(css, told, len(found[css]), sum(found[css]))
        for css, told in words.items()
        if css in found
    ]


class Dot(NamedTuple):
    """A size that compiles met."""

    x: float
    value: int
    compiles: int
    labelled: bool


def sizes(met: Mapping[int | str, int]) -> list[Dot]:
    """Sizes on a line, logarithmic if they differ by much; empty for fewer than three, which show nothing."""
    numbers = sorted({value for value in met if isinstance(value, int) and value >= 0})
    if len(numbers) < 3:
        return []
    low, high = numbers[0], numbers[-1]
    place = math.log1p if high > 32 * max(low, 1) else float
    dots: dict[int, Dot] = {}
    last = 4.0
    for value in (low, high, *numbers[1:-1]):
        x = 4 + 92 * (place(value) - place(low)) / (place(high) - place(low))
        edge = value in (low, high)
        labelled = edge or _has_room(x, last, value)
        if labelled and not edge:
            last = x
        spot = Dot(round(x, 2), value, met[value], labelled)
        dots.setdefault(round(x * _MAX_DOTS / 100), spot)
    return sorted(dots.values())


def _has_room(x: float, last: float, value: int) -> bool:
    room = 3 + 2 * len(str(value))
    return x - last >= room and x + room <= 96


class Column(NamedTuple):
    """A column of a histogram."""

    x: float
    width: float
    height: float
    """Of the highest column's 1."""
    low: int
    high: int
    calls: int


def histogram(calls: Sequence[tuple[int, int]], most: int = 48) -> list[Column]:
    """Sizes, in their order, with their calls: a column for each, or of many for ranges of equal width."""
    if not calls:
        return []
    first, last = calls[0][0], calls[-1][0]
    step = 1 if len(calls) <= most else -(-(last - first + 1) // most)
    found: Counter[int] = Counter()
    for size, number in calls:
        found[size if step == 1 else first + (size - first) // step * step] += number
    width, highest = 100 / len(found), max(found.values())
    return [
        Column(place * width, width, number / highest, low, low + step - 1, number)
        for place, (low, number) in enumerate(sorted(found.items()))
    ]


def point(value: Any) -> str:
    """A coordinate as SVG takes it."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
