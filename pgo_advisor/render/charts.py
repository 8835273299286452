"""The geometry of the report's pictures, in percent of their width; the templates draw them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pgo_advisor.render.text import duration

_MAX_LANES = 8
_MAX_BARS = 500
_MAX_COLORS = 6
_MAX_DOTS = 200
FIRST = "first compile"


class CompileRow(NamedTuple):
    """A compile as the report shows it."""

    compile_id: str
    ranks: str
    """Of the processes that it stands for, in words."""
    frame: str
    cause: str
    """Kind of its main cause in words; FIRST for a frame's first compile."""
    changes: tuple[tuple[str, str, str], ...]
    """Of each cause, the kind, the input and what became of it."""
    more: int
    """Causes that `changes` leaves out."""
    start: float | None
    """Seconds since 1970, UTC."""
    seconds: float
    removed: bool


class Legend(NamedTuple):
    """A color with its cause, and what that cost."""

    css: str
    cause: str
    compiles: int
    seconds: float


class Bar(NamedTuple):
    """A compile in the timeline; `x` and `width` in percent."""

    x: float
    width: float
    css: str
    row: CompileRow


class Lane(NamedTuple):
    """The compiles of one function or rank."""

    label: str
    ranks: str
    bars: list[Bar]


class Tick(NamedTuple):
    """A mark on the axis of time."""

    x: float
    label: str


class Timeline(NamedTuple):
    """Compiles over time, a lane for each frame (and group of ranks)."""

    lanes: list[Lane]
    ticks: list[Tick]
    legend: list[Legend]
    seconds: float
    """From the start of the first compile to the end of the last."""
    left_out: int
    """Compiles too short to be drawn among so many, or without a time."""


def timeline(rows: Sequence[CompileRow]) -> Timeline | None:
    """The picture of these compiles; None if no time was recorded."""
    timed = sorted(
        ((row.start, row) for row in rows if row.start is not None),
        key=lambda item: -item[1].seconds,
    )
    if not timed:
        return None
    origin = min(start for start, _ in timed)
    seconds = max(start - origin + row.seconds for start, row in timed) or 1.0
    drawn = timed[:_MAX_BARS]
    legend = _legend(row for _, row in drawn)
    css = {entry.cause: entry.css for entry in legend}
    return Timeline(
        lanes=_lanes(
            Bar(
                100 * (start - origin) / seconds,
                100 * row.seconds / seconds,
                css.get(row.cause, "other"),
                row,
            )
            for start, row in drawn
        ),
        ticks=_ticks(seconds),
        legend=legend,
        seconds=seconds,
        left_out=len(rows) - len(drawn),
    )


def _ticks(seconds: float) -> list[Tick]:
    return [Tick(100 * at / seconds, duration(at) if at else "0") for at in ticks(seconds)]


def _lanes(bars: Iterable[Bar]) -> list[Lane]:
    """A lane for each frame and group of ranks, all beyond the first ones in one."""
    lanes: dict[tuple[str, str], list[Bar]] = defaultdict(list)
    for bar in bars:
        lanes[bar.row.frame, bar.row.ranks].append(bar)
    shown = [Lane(frame, ranks, found) for (frame, ranks), found in lanes.items()]
    if others := shown[_MAX_LANES:]:
        shown[_MAX_LANES:] = [
            Lane(f"{len(others)} more", "", [bar for lane in others for bar in lane.bars])
        ]
    return shown


def _legend(rows: Iterable[CompileRow]) -> list[Legend]:
    """First compiles, then the causes by what they cost, the cheapest of many as one."""
    spent: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        spent[row.cause].append(row.seconds)
    first = spent.pop(FIRST, [])
    causes = sorted(spent.items(), key=lambda item: -sum(item[1]))
    legend = [Legend("first", FIRST, len(first), sum(first))] if first else []
    legend += [
        Legend(f"cause{number}", cause, len(times), sum(times))
        for number, (cause, times) in enumerate(causes[:_MAX_COLORS])
    ]
    if rest := [time for _, times in causes[_MAX_COLORS:] for time in times]:
        legend.append(Legend("other", "other causes", len(rest), sum(rest)))
    return legend


def ticks(end: float) -> list[float]:
    """Round numbers from 0 to at most `end`, three to six of them."""
    step = 10 ** math.floor(math.log10(end))
    step = next(size for size in (step / 5, step / 2, step, 2 * step) if end / size <= 5.001)
    return [number * step for number in range(int(end / step + 0.001) + 1)]


class Dot(NamedTuple):
    """A size that a compile met."""

    x: float
    value: int
    labelled: bool


def sizes(values: Iterable[int | str]) -> list[Dot]:
    """Sizes on a line, logarithmic if they differ by much; empty for fewer than three, which show nothing."""
    numbers = sorted({value for value in values if isinstance(value, int) and value >= 0})
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
        dots.setdefault(round(x * _MAX_DOTS / 100), Dot(round(x, 2), value, labelled))
    return sorted(dots.values())


def _has_room(x: float, last: float, value: int) -> bool:
    room = 3 + 2 * len(str(value))
    return x - last >= room and x + room <= 96


def shares(parts: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Each part's name, start and length in percent of the sum; less than a microsecond is left out."""
    total = sum(parts.values())
    drawn: list[tuple[str, float, float]] = []
    at = 0.0
    for name, part in parts.items():
        if part > 1e-6:
            drawn.append((name, at, 100 * part / total))
            at += 100 * part / total
    return drawn


def point(value: Any) -> str:
    """A coordinate as SVG takes it."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
