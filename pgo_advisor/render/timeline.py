"""The timeline's geometry, in percent of its width."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pgo_advisor.render.compiles import CompileRow
from pgo_advisor.render.text import count, duration
from pgo_advisor.report import Fate

MAX_BARS = 240
_MAX_LANES = 8
_GAPS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 100.0)

_Lane = tuple[str, str]
"""Function and ranks; the function is empty for a lane of ranks."""


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
    """Compiles over time, and a lane of what the advice leaves."""

    by: str
    """What has a lane."""

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


def timelines(rows: Sequence[CompileRow], most: int = MAX_BARS) -> list[Timeline]:
    """The pictures of these compiles, of at most `most` bars; none if no time was recorded.

    With lanes for each function and group of ranks, and for each such group where there are several.
    """
    ways: dict[str, Callable[[CompileRow], _Lane]] = {
        "function": lambda row: (row.frame, row.ranks)
    }
    if len({row.ranks for row in rows}) > 1:
        ways["rank"] = lambda row: ("", row.ranks)
    found = (_timeline(rows, by, key, most // len(ways)) for by, key in ways.items())
    return [picture for picture in found if picture]


def _timeline(
    rows: Sequence[CompileRow], by: str, key: Callable[[CompileRow], _Lane], most: int
) -> Timeline | None:
    timed = [_Spot(row.start, row.seconds, row) for row in rows if row.start is not None]
    if not timed:
        return None
    timed.sort(key=lambda spot: spot.start)
    origin = timed[0].start
    end = max(spot.start - origin + spot.seconds for spot in timed) or 1.0
    lanes = [*_lanes(timed, key), *_ghost(timed, origin)]
    drawn = _drawn(lanes, origin, end, most)
    shown = sum(len(lane.bars) for lane in drawn)
    return Timeline(
        by=by,
        lanes=drawn,
        ticks=[Tick(100 * at / end, duration(at) if at else "0") for at in ticks(end)],
        seconds=end,
        summed=shown < sum(len(spots) for *_, spots in lanes),
        left_out=len(rows) - len(timed),
    )


def _drawn(
    lanes: Sequence[tuple[str, str, str, list[_Spot]]], origin: float, end: float, most: int
) -> list[Lane]:
    """The lanes with at most so many bars, if the widest gap does."""
    drawn: list[Lane] = []
    for gap in _GAPS:
        drawn = [
            Lane(label, ranks, css, list(_bars(spots, origin, end, gap)))
            for label, ranks, css, spots in lanes
        ]
        if sum(len(lane.bars) for lane in drawn) <= most:
            break
    return drawn


def _lanes(
    timed: Iterable[_Spot], key: Callable[[CompileRow], _Lane]
) -> Iterator[tuple[str, str, str, list[_Spot]]]:
    """The lanes, the most expensive first; many as one behind them."""
    found: dict[_Lane, list[_Spot]] = defaultdict(list)
    for spot in timed:
        found[key(spot.row)].append(spot)
    lanes = sorted(found.items(), key=lambda lane: -sum(spot.seconds for spot in lane[1]))
    for (frame, ranks), spots in lanes[:_MAX_LANES]:
        yield frame, ranks, "", spots
    if others := lanes[_MAX_LANES:]:
        together = sorted((spot for _, spots in others for spot in spots), key=lambda s: s.start)
        yield f"{len(others)} more", "", "", together


def _ghost(timed: Sequence[_Spot], origin: float) -> Iterator[tuple[str, str, str, list[_Spot]]]:
    """The lane of what the advice leaves, if something goes or may go."""
    if any(spot.row.fate in (Fate.goes, Fate.may_go) for spot in timed):
        yield "with the advice", "", "ghost", list(_shifted(timed, origin))


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


def ticks(end: float) -> list[float]:
    """Round numbers from 0 to at most `end`, three to six of them."""
    step = 10 ** math.floor(math.log10(end))
    step = next(size for size in (step / 5, step / 2, step, 2 * step) if end / size <= 5.001)
    return [number * step for number in range(int(end / step + 0.001) + 1)]
