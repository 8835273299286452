"""What the HTML report and the Markdown comment share: the answer in words, and what stands together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pgo_advisor.advice.ranks import ProcessGroup, runs_in_words
from pgo_advisor.analysis import Analysis
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.render.measured import headline, verdict
from pgo_advisor.render.text import cost, count, saved
from pgo_advisor.report import Advice

T = TypeVar("T")


class Answer(NamedTuple):
    """The outcome in a headline and a sentence. Neither holds recorded text."""

    headline: str
    sentence: str


def answer(analysis: Analysis) -> Answer:
    if analysis.measured is not None:
        return Answer(headline(analysis.measured), verdict(analysis.measured))
    totals = analysis.totals
    inputs = count(analysis.inputs, "input")
    if not totals.compiles:
        if not analysis.advice:
            return Answer("Nothing to do", "No compile was recorded, and no input that varied.")
        return Answer(
            f"{inputs} varied",
            "A PGO profile tells which sizes varied, not what that cost: nothing is predicted.",
        )
    if not totals.recompiles and totals.unfinished:
        return Answer("Cannot tell", f"{cost(totals)}: what came after that is not known.")
    if not totals.recompiles:
        return Answer("Nothing to do", f"{cost(totals)}; nothing was compiled twice.")
    if not analysis.advice:
        return Answer(
            "Declaring inputs dynamic does not help here",
            f"{cost(totals)}. No declaration would save a compile"
            + ("; what would, is below." if analysis.findings else "."),
        )
    goes = f", {saved(totals)} would go" if totals.seconds else ""
    return Answer(
        f"{count(totals.compiles, 'compile')} become {totals.predicted}",
        f"{cost(totals)}. With {inputs} declared dynamic{goes or ' there are fewer'}. "
        "This is predicted from the recorded calls, not measured.",
    )


def processes(analysis: Analysis) -> list[str]:
    """Which processes of several compiled alike, a sentence for each group; nothing for one process.

    The sentences hold recorded names.
    """
    groups = analysis.processes
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
    def together(self) -> list[SourceDim]:
        return self._all(lambda item: item.together)

    @property
    def price(self) -> list[str]:
        return self._all(lambda item: item.price)

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


def kind_in_words(kind: CauseKind) -> str:
    return "size 0 or 1" if kind is CauseKind.zero_one else kind.value.replace("-", " ")
