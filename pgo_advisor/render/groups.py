"""What stands together in a report: inputs that are alike, and processes that compiled alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pgo_advisor.render.text import count
from pgo_advisor.report import Advice, Input, ProcessGroup, Report, runs_in_words

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
