"""Why a prediction is a range: what the replay assumes and no recorded compile shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.graphs import Graph
from pgo_advisor.replay.observations import Observations


class DoubtKind(str, Enum):
    """What is not known."""

    not_explained = "not-explained"
    """The replay of the recorded run does not give the recorded compiles."""
    never_together = "never-together"
    """Sizes that share a graph were never symbols in one compile."""
    breaks = "breaks"
    """Of calls that share a graph one broke it and another did not."""
    fixed = "fixed"
    """The graph in the place of a recorded one has a constant, or one symbol for two, that this had not."""
    empty = "empty"
    """A call that compiled nothing may compile once its sizes are symbols."""
    never_automatic = "never-automatic"
    """Parameters, buffers and ints of modules were never symbols."""
    padded = "padded"
    """A contiguous tensor shares a graph that was compiled for a padded one."""
    duck_shaped = "duck-shaped"
    """Sizes that shared a symbol are declared apart."""
    never_varied = "never-varied"
    """A size is declared, by its name, that never varied here and was never a symbol."""
    console = "console"
    """Console text names only the first input that differed."""
    alias = "alias"
    """A tensor that varies is recorded under another name only."""
    after_break = "after-break"
    """More calls may come from a function that breaks in some of its graphs only."""
    after_limit = "after-limit"
    """More calls may come from a function that hit the recompile limit before."""
    limit = "limit"
    """After the recompile limit nothing was recorded."""


class Doubt(NamedTuple):
    """A doubt, and how many compiles more there may be for it in all; None where nothing bounds them."""

    kind: DoubtKind
    more: int | None


class Replayed(NamedTuple):
    """A frame's compiles with a declaration, as the replay has them: `low` of them.

    `explained`: whether the replay of the recorded run gives its compiles. `unproven` are the calls of
    `compiles_never_together`.
    """

    observed: Observations
    declaration: Declaration
    graphs: Sequence[Graph]
    low: int
    explained: bool
    unproven: Sequence[Compile]

    @property
    def compiles(self) -> Sequence[Compile]:
        return self.observed.compiles

    @property
    def avoided(self) -> int:
        """How many of the recorded compiles would not happen."""
        return max(0, len(self.observed.frame.compiles) - self.low)


def doubts(replayed: Replayed) -> Iterator[Doubt]:
    """Everything that makes the number of compiles uncertain."""
    for ask in _DOUBTS:
        if doubt := ask(replayed):
            yield doubt


def compiles_never_together(observed: Observations, graphs: Sequence[Graph]) -> list[Compile]:
    """Calls that share a graph though what varies among its calls was never symbolic at once."""
    found: list[Compile] = []
    for graph in graphs:
        varying = {
            pair
            for pair in observed.varying
            if len({value for call in graph.compiles if (value := call.value(pair)) is not None})
            > 1
        }
        if not any(varying <= call.free for call in graph.compiles):
            found += graph.compiles[1:]
    return found


def compiles_in_doubt(graphs: Sequence[Graph], kind: str) -> list[Compile]:
    """Calls that a graph took in spite of an objection of this kind, which is not certain."""
    return [
        call
        for graph in graphs
        for call in graph.compiles[1:]
        if any(other is call and objection.kind == kind for other, objection in graph.unsure)
    ]


def _not_explained(replayed: Replayed) -> Doubt | None:
    return None if replayed.explained else Doubt(DoubtKind.not_explained, replayed.avoided)


def _never_together(replayed: Replayed) -> Doubt | None:
    more = len(replayed.unproven)
    return Doubt(DoubtKind.never_together, more) if more else None


def _breaks(replayed: Replayed) -> Doubt | None:
    more = len(compiles_in_doubt(replayed.graphs, "path"))
    return Doubt(DoubtKind.breaks, more) if more else None


def _fixed(replayed: Replayed) -> Doubt | None:
    fixed = {
        (number, pair)
        for number, graph in enumerate(replayed.graphs)
        for call in graph.compiles[1:]
        for pair in call.symbolic
        if graph.fixes(pair, call)
    }
    return Doubt(DoubtKind.fixed, len(fixed)) if fixed else None


def _empty(replayed: Replayed) -> Doubt | None:
    if replayed.avoided and any(
        call.outcome == "empty" for call in replayed.observed.frame.compiles
    ):
        return Doubt(DoubtKind.empty, replayed.avoided + 1)
    return None


def _never_automatic(replayed: Replayed) -> Doubt | None:
    if any(pair in replayed.declaration for pair in replayed.observed.never):
        return Doubt(DoubtKind.never_automatic, replayed.avoided)
    return None


def _padded(replayed: Replayed) -> Doubt | None:
    more = len(compiles_in_doubt(replayed.graphs, "stride"))
    return Doubt(DoubtKind.padded, more) if more else None


def _duck_shaped(replayed: Replayed) -> Doubt | None:
    declaration = replayed.declaration
    if any(
        any(map(declaration.names, group))
        for call in replayed.compiles
        for group in call.duck_groups
    ) or any(
        pair in declaration
        for call in replayed.compiles
        for group in call.specialized_groups
        for pair in group
    ):
        return Doubt(DoubtKind.duck_shaped, replayed.avoided)
    return None


def _never_varied(replayed: Replayed) -> Doubt | None:
    declaration, observed = replayed.declaration, replayed.observed
    strange = [pair for pair in observed.never_symbols if pair in declaration]
    if not strange:
        return None
    declared = {pair.source for pair in observed.varying if pair in declaration}
    beside = all(pair.source in declared for pair in strange)
    return Doubt(DoubtKind.never_varied, replayed.avoided if beside else None)


def _console(replayed: Replayed) -> Doubt | None:
    if any(call.partial for call in replayed.observed.frame.compiles):
        return Doubt(DoubtKind.console, replayed.avoided)
    return None


def _alias(replayed: Replayed) -> Doubt | None:
    sizes = {item for call in replayed.compiles for item in call.aliases.items()}
    if len(sizes) > len({source for source, _ in sizes}):
        return Doubt(DoubtKind.alias, max(1, replayed.avoided))
    return None


def _after_break(replayed: Replayed) -> Doubt | None:
    return Doubt(DoubtKind.after_break, None) if replayed.observed.after_break else None


def _after_limit(replayed: Replayed) -> Doubt | None:
    return Doubt(DoubtKind.after_limit, None) if replayed.observed.after_limit else None


def _limit(replayed: Replayed) -> Doubt | None:
    return Doubt(DoubtKind.limit, None) if replayed.observed.frame.hit_limit else None


_DOUBTS: tuple[Callable[[Replayed], Doubt | None], ...] = (
    _not_explained,
    _never_together,
    _breaks,
    _fixed,
    _empty,
    _never_automatic,
    _padded,
    _duck_shaped,
    _never_varied,
    _console,
    _alias,
    _after_break,
    _after_limit,
    _limit,
)
