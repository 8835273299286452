"""The icicle's geometry, in percent of its width: function, cause, compiles, phases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pgo_advisor.render.charts import Legend
from pgo_advisor.render.compiles import PHASES, CompileGroup, CompileRow, over_inputs
from pgo_advisor.render.text import count, duration

NARROW = 1.5
"""Percent of the width: what is narrower is drawn with others as one."""
_MAX_FUNCTIONS = 10


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


def icicle(groups: Sequence[CompileGroup], narrow: float = NARROW) -> Icicle | None:
    """Functions, below each its causes, below these the compiles, and the phases of these."""
    whole = sum(group.seconds for group in groups)
    if not whole:
        return None
    shown, more = _functions(groups)
    blocks: list[Block] = []
    at = 0.0
    scale = 100 / whole
    for label, find, parts in shown:
        width = scale * sum(group.seconds for group in parts)
        title = f"{label}: {duration(width / scale)}"
        blocks.append(Block(0, at, width, "function", label, title, find))
        blocks += _of_function(_causes(parts, narrow / scale), at, scale, find, narrow)
        at += width
    return Icicle(blocks, _phase_legend(groups), more)


def _functions(
    groups: Sequence[CompileGroup],
) -> tuple[list[tuple[str, str, list[CompileGroup]]], int]:
    """Label, filter and groups of each function, the most expensive first; and how many are the last one."""
    functions: dict[str, list[CompileGroup]] = defaultdict(list)
    for group in groups:
        functions[group.first.frame].append(group)
    ranked = sorted(functions.items(), key=lambda item: -_seconds(item[1]))
    shown = [(name, name, parts) for name, parts in ranked[:_MAX_FUNCTIONS]]
    others = ranked[_MAX_FUNCTIONS:]
    if others:
        shown.append((f"{len(others)} more", "", [g for _, parts in others for g in parts]))
    return shown, len(others)


def _seconds(groups: Iterable[CompileGroup]) -> float:
    return sum(group.seconds for group in groups)


def _causes(
    parts: Sequence[CompileGroup], least: float
) -> Iterator[tuple[str, list[CompileGroup]]]:
    """The causes of a function; those that took less than `least` seconds as one behind them."""
    causes: dict[str, list[CompileGroup]] = defaultdict(list)
    for group in parts:
        causes[f"{group.first.cause} {group.first.where}".rstrip()].append(group)
    by_size = sorted(causes.items(), key=lambda item: -_seconds(item[1]))
    wide = [cause for cause in by_size if _seconds(cause[1]) >= least]
    small = by_size[len(wide) :]
    yield from wide
    if len(small) == 1:
        yield from small
    elif small:
        yield f"{len(small)} more causes", [group for _, members in small for group in members]


def _of_function(
    causes: Iterable[tuple[str, list[CompileGroup]]],
    at: float,
    scale: float,
    find: str,
    narrow: float,
) -> Iterator[Block]:
    for title, members in causes:
        seconds = sum(group.seconds for group in members)
        number = count(sum(len(group.members) for group in members), "compile")
        yield Block(
            1, at, scale * seconds, "cause", title, f"{title}: {number}, {duration(seconds)}", find
        )
        for group in over_inputs(members):
            for rows in _drawn(group.members, narrow / scale):
                blocks = list(_compiles(rows, at, scale))
                yield from blocks
                at += blocks[0].width


def _drawn(members: Sequence[CompileRow], least: float) -> Iterator[Sequence[CompileRow]]:
    """Each compile of at least so many seconds by itself, then all others as one."""
    wide = [row for row in members if row.seconds >= least]
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
