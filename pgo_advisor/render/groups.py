"""What stands together in a report: inputs, findings, functions and processes that are alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.render.text import count
from pgo_advisor.replay.compiles import SIZE_CAUSES
from pgo_advisor.report import (
    Advice,
    Finding,
    FrameReport,
    Input,
    ProcessGroup,
    Range,
    Report,
    UserLine,
    runs_in_words,
)

T = TypeVar("T")


def processes(report: Report) -> list[str]:
    """Which processes of several compiled alike, a sentence for each group; nothing for one process.

    The sentences hold recorded names.
    """
    groups = report.processes
    if sum(len(group.logs) for group in groups) < 2:
        return []
    return [_processes(group) for group in groups]


def _processes(group: ProcessGroup) -> str:
    number = len(group.logs)
    words = "one process" if number == 1 else f"{number} processes alike"
    if group.ranks:
        words += f" ({runs_in_words(group.ranks, 'rank', most=200)})"
    words += f": {count(group.compiles, 'compile')}{' each' if number > 1 else ''}"
    return "; ".join([words, *group.differs])


@dataclass(frozen=True)
class Alike:
    """Inputs of the same functions that took the same sizes: they are shown as one."""

    items: tuple[Advice, ...]

    @property
    def together(self) -> list[Input]:
        return self._all(lambda item: item.together)

    @property
    def costs(self) -> list[str]:
        return self._all(lambda item: item.costs)

    @property
    def also_touches(self) -> list[str]:
        return self._all(lambda item: item.also_touches)

    @property
    def evidence(self) -> list[str]:
        return self._all(lambda item: item.evidence)

    def _all(self, part: Callable[[Advice], Iterable[T]]) -> list[T]:
        return list(dict.fromkeys(found for item in self.items for found in part(item)))


def alike(advice: Iterable[Advice]) -> list[Alike]:
    """The advice in its order, with what is alike behind the first of its kind."""
    groups: dict[object, list[Advice]] = defaultdict(list)
    for item in advice:
        groups[item.rule, item.frames, item.values].append(item)
    return [Alike(tuple(items)) for items in groups.values()]


@dataclass(frozen=True)
class AlikeFindings:
    """Findings of one rule with one fix, the most expensive first."""

    items: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.items[0]

    @property
    def compiles(self) -> int:
        return sum(item.compiles for item in self.items)

    @property
    def seconds(self) -> float:
        return sum(item.seconds for item in self.items)

    @property
    def frames(self) -> list[str]:
        return list(dict.fromkeys(name for item in self.items for name in item.frames))

    @property
    def lines(self) -> list[UserLine]:
        return list(dict.fromkeys(line for item in self.items for line in item.lines))

    @property
    def evidence(self) -> list[str]:
        return list(dict.fromkeys(text for item in self.items for text in item.evidence))


def alike_findings(findings: Iterable[Finding]) -> list[AlikeFindings]:
    """The findings by what they cost, those with one remedy as one."""
    groups: dict[object, list[Finding]] = defaultdict(list)
    for found in findings:
        groups[found.rule, found.fix].append(found)
    found_groups = (AlikeFindings(tuple(items)) for items in groups.values())
    return sorted(found_groups, key=lambda group: (-group.seconds, -group.compiles))


@dataclass(frozen=True)
class AlikeFunctions:
    """Functions with the same verdict, for the same causes and with as many compiles."""

    items: tuple[FrameReport, ...]

    @property
    def first(self) -> FrameReport:
        return self.items[0]

    @property
    def compiles(self) -> int:
        return sum(item.compiles for item in self.items)

    @property
    def predicted(self) -> Range:
        return sum((item.predicted for item in self.items), Range(0, 0))

    @property
    def seconds(self) -> float:
        return sum(item.seconds for item in self.items)

    @property
    def saved_seconds(self) -> float:
        return sum(item.saved_seconds for item in self.items)


def alike_functions(frames: Sequence[FrameReport], most: int = 20) -> list[AlikeFunctions]:
    """The functions by what they cost; more than `most` in groups of those that are alike."""
    if len(frames) <= most:
        return [AlikeFunctions((frame,)) for frame in frames]
    groups: dict[object, list[FrameReport]] = defaultdict(list)
    for frame in frames:
        kinds = tuple(sorted(kind.value for kind in frame.causes))
        key: tuple[object, ...] = (frame.verdict, kinds)
        groups[key].append(frame)
    found = (AlikeFunctions(tuple(items)) for items in groups.values())
    return sorted(found, key=lambda group: -group.seconds)


class RuledOut(NamedTuple):
    """An input that varied and is not to be declared."""

    what: str
    frame: str
    compiles: int
    seconds: float
    why: str


def ruled_out(report: Report) -> Iterator[RuledOut]:
    """Inputs whose sizes differed at recompiles and that are not advised, the most expensive first."""
    frames = {frame.id: frame.why for frame in report.frames}
    findings: dict[str, list[str]] = defaultdict(list)
    for found in report.findings:
        for name in found.frames:
            findings[name].append(found.summary)
    seen: dict[tuple[str, str], list[float]] = defaultdict(list)
    for what, name, spent in _not_advised(report):
        seen[what, name].append(spent)
    for (what, name), seconds in sorted(seen.items(), key=lambda item: -sum(item[1])):
        source = what.partition(" dim ")[0]
        told = (summary for summary in findings[name] if source in summary)
        why = next(told, frames.get(name, ""))
        yield RuledOut(what, name, len(seconds), sum(seconds), why)


def _not_advised(report: Report) -> Iterator[tuple[str, str, float]]:
    """Each input whose size differed at a recompile, with the function, and the recompile's seconds."""
    advised = {(item.pair, name) for item in report.advice for name in item.frames}
    for recompile in report.recompiles:
        for cause in recompile.causes:
            pair = SourceDim(cause.source or "", cause.dim)
            known = cause.source and (pair, recompile.frame) not in advised
            if known and cause.kind in SIZE_CAUSES:
                yield cause.where, recompile.frame, recompile.seconds
