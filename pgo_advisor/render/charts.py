"""The geometry of the report's pictures, in percent of their width; the templates draw them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pgo_advisor.render.compiles import PHASES, CompileGroup, CompileRow, over_inputs
from pgo_advisor.render.text import count, duration
from pgo_advisor.report import Fate, Report

_MAX_LANES = 8
_MAX_BARS = 240
_MAX_FUNCTIONS = 10
_NARROW = 1.5
_MAX_DOTS = 200
_GAPS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 100.0)


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


class Bar(NamedTuple):
    """A compile in the timeline, or several of one fate so close that they are drawn as one."""

    x: float
    width: float
    css: str
    title: str


class Lane(NamedTuple):
    """A row of the timeline."""

    label: str
    ranks: str
    css: str
    bars: list[Bar]


class Tick(NamedTuple):
    """A mark on the axis of time."""

    x: float
    label: str


class Timeline(NamedTuple):
    """Compiles over time: a lane for each function and group of ranks, and one of what the advice leaves."""

    lanes: list[Lane]
    ticks: list[Tick]
    seconds: float
    """From the start of the first compile to the end of the last."""
    summed: bool
    """Whether bars stand for several compiles."""
    left_out: int
    """Compiles without a time."""


class _Spot(NamedTuple):
    start: float
    seconds: float
    row: CompileRow


def timeline(rows: Sequence[CompileRow]) -> Timeline | None:
    """The picture of these compiles; None if no time was recorded."""
    timed = [_Spot(row.start, row.seconds, row) for row in rows if row.start is not None]
    if not timed:
        return None
    timed.sort(key=lambda spot: spot.start)
    origin = timed[0].start
    end = max(spot.start - origin + spot.seconds for spot in timed) or 1.0
    lanes = list(_lanes(timed))
    if any(spot.row.fate in (Fate.goes, Fate.may_go) for spot in timed):
        lanes.append(("with the advice", "", "ghost", list(_shifted(timed, origin))))
    for gap in _GAPS:
        drawn = [
            Lane(label, ranks, css, list(_bars(spots, origin, end, gap)))
            for label, ranks, css, spots in lanes
        ]
        if sum(len(lane.bars) for lane in drawn) <= _MAX_BARS:
            break
    shown = sum(len(lane.bars) for lane in drawn)
    return Timeline(
        lanes=drawn,
        ticks=[Tick(100 * at / end, duration(at) if at else "0") for at in ticks(end)],
        seconds=end,
        summed=shown < sum(len(spots) for *_, spots in lanes),
        left_out=len(rows) - len(timed),
    )


def _lanes(timed: Iterable[_Spot]) -> Iterator[tuple[str, str, str, list[_Spot]]]:
    """A lane for each function and group of ranks, the most expensive first; many as one behind them."""
    found: dict[tuple[str, str], list[_Spot]] = defaultdict(list)
    for spot in timed:
        found[spot.row.frame, spot.row.ranks].append(spot)
    lanes = sorted(found.items(), key=lambda lane: -sum(spot.seconds for spot in lane[1]))
    for (frame, ranks), spots in lanes[:_MAX_LANES]:
        yield frame, ranks, "", spots
    if others := lanes[_MAX_LANES:]:
        together = sorted((spot for _, spots in others for spot in spots), key=lambda s: s.start)
        yield f"{len(others)} more", "", "", together


def _shifted(timed: Iterable[_Spot], origin: float) -> Iterator[_Spot]:
    """What is left if all goes that may go, each compile earlier by what went before it in its process."""
    gone: dict[str, float] = defaultdict(float)
    for spot in timed:
        if spot.row.fate in (Fate.goes, Fate.may_go):
            gone[spot.row.ranks] += spot.seconds
        else:
            yield spot._replace(start=max(origin, spot.start - gone[spot.row.ranks]))


def _bars(spots: Iterable[_Spot], origin: float, end: float, gap: float) -> Iterator[Bar]:
    """The bars, those of one fate joined that are not further apart than `gap` percent."""
    of_fate: dict[Fate | None, list[_Spot]] = defaultdict(list)
    for spot in spots:
        of_fate[spot.row.fate].append(spot)
    room = gap * end / 100
    for members in of_fate.values():
        run: list[_Spot] = []
        reach = -math.inf
        for spot in sorted(members, key=lambda spot: spot.start):
            if run and (not gap or spot.start > reach + room):
                yield _bar(run, reach, origin, end)
                run = []
                reach = -math.inf
            run.append(spot)
            reach = max(reach, spot.start + spot.seconds)
        yield _bar(run, reach, origin, end)


def _bar(run: Sequence[_Spot], reach: float, origin: float, end: float) -> Bar:
    row = run[0].row
    told = f"{row.compile_id}: {row.cause}" if len(run) == 1 else count(len(run), "compile")
    spent = duration(sum(spot.seconds for spot in run))
    return Bar(
        100 * (run[0].start - origin) / end,
        100 * (reach - run[0].start) / end,
        row.css,
        f"{told}, {spent}, {row.becomes}",
    )


class Block(NamedTuple):
    """A rectangle of the icicle; `level` from 0: function, cause, compiles, phase."""

    level: int
    x: float
    width: float
    css: str
    label: str
    title: str
    find: str
    """What the page is filtered by on a click; empty for none."""


class Icicle(NamedTuple):
    """Where the seconds went."""

    blocks: list[Block]
    phases: list[Legend]
    more: int
    """Functions that are drawn as one."""


def icicle(groups: Sequence[CompileGroup]) -> Icicle | None:
    """Functions, below each its causes, below these the compiles, and the phases of these."""
    whole = sum(group.seconds for group in groups)
    if not whole:
        return None
    functions: dict[str, list[CompileGroup]] = defaultdict(list)
    for group in groups:
        functions[group.first.frame].append(group)
    ranked = sorted(functions.items(), key=lambda item: -sum(g.seconds for g in item[1]))
    shown = [(name, name, parts) for name, parts in ranked[:_MAX_FUNCTIONS]]
    if others := ranked[_MAX_FUNCTIONS:]:
        shown.append((f"{len(others)} more", "", [g for _, parts in others for g in parts]))
    blocks: list[Block] = []
    at = 0.0
    for label, find, parts in shown:
        scale = 100 / whole
        width = scale * sum(group.seconds for group in parts)
        title = f"{label}: {duration(width / scale)}"
        blocks.append(Block(0, at, width, "function", label, title, find))
        blocks += _of_function(parts, at, scale, find)
        at += width
    return Icicle(blocks, _phase_legend(groups), len(others))


def _of_function(
    parts: Sequence[CompileGroup], at: float, scale: float, find: str
) -> Iterator[Block]:
    causes: dict[tuple[str, str], list[CompileGroup]] = defaultdict(list)
    for group in parts:
        causes[group.first.cause, group.first.where if find else ""].append(group)
    for (cause, where), members in causes.items():
        seconds = sum(group.seconds for group in members)
        number = count(sum(len(group.members) for group in members), "compile")
        title = f"{cause} {where}".rstrip()
        yield Block(
            1, at, scale * seconds, "cause", title, f"{title}: {number}, {duration(seconds)}", find
        )
        for group in over_inputs(members):
            for rows in _drawn(group.members, scale):
                blocks = list(_compiles(rows, at, scale))
                yield from blocks
                at += blocks[0].width


def _drawn(members: Sequence[CompileRow], scale: float) -> Iterator[Sequence[CompileRow]]:
    """Each compile that is wide enough by itself, then all others as one."""
    wide = [row for row in members if row.seconds * scale >= _NARROW]
    for row in wide:
        yield [row]
    if rest := members[len(wide) :]:
        yield rest


def _compiles(rows: Sequence[CompileRow], at: float, scale: float) -> Iterator[Block]:
    seconds = sum(row.seconds for row in rows)
    first = rows[0]
    label = first.compile_id if len(rows) == 1 else f"{len(rows)} compiles"
    told = f"{label}: {first.cause}, {duration(seconds)}, {first.becomes}"
    yield Block(2, at, scale * seconds, first.css, label, told, "")
    spent = [sum(parts) for parts in zip(*(row.phases for row in rows), strict=True)]
    for number, (name, recorded) in enumerate(zip(PHASES, spent, strict=True)):
        part = min(recorded, seconds)
        seconds -= part
        if scale * part > 0.1:
            told = f"{name}: {duration(part)} of {label}"
            yield Block(3, at, scale * part, f"phase{number}", name, told, "")
            at += scale * part


def _phase_legend(groups: Sequence[CompileGroup]) -> list[Legend]:
    spent = [sum(parts) for parts in zip(*(group.phases for group in groups), strict=True)]
    return [
        Legend(f"phase{number}", name, 0, seconds)
        for number, (name, seconds) in enumerate(zip(PHASES, spent, strict=True))
        if seconds
    ]


def ticks(end: float) -> list[float]:
    """Round numbers from 0 to at most `end`, three to six of them."""
    step = 10 ** math.floor(math.log10(end))
    step = next(size for size in (step / 5, step / 2, step, 2 * step) if end / size <= 5.001)
    return [number * step for number in range(int(end / step + 0.001) + 1)]


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


def point(value: Any) -> str:
    """A coordinate as SVG takes it."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
