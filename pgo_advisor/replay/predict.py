"""How many compiles a frame would have had, with given inputs dynamic from the first call on.

Every recorded compile is a call with known inputs. They are replayed in their order against the graphs that
would exist then: a call that a graph takes compiles nothing. What can keep it from a graph stands in
`objections`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.declaration import NOTHING, Declaration
from pgo_advisor.replay.graphs import Graph, Lookup, Objection, Objector, compile_graph
from pgo_advisor.replay.objections import OBJECTIONS, OF_SIZES
from pgo_advisor.replay.observations import Observations
from pgo_advisor.replay.uncertainty import (
    Doubt,
    Replayed,
    compiles_in_doubt,
    compiles_never_together,
    doubts,
)
from pgo_advisor.report import Range


@dataclass(frozen=True)
class Prediction:
    """Compiles of one frame, as a range, with the doubts that make it one; none if it is exact."""

    compiles: Range
    doubts: tuple[Doubt, ...]
    graphs: tuple[Graph, ...] = field(repr=False)
    unproven: tuple[Compile, ...] = field(repr=False)
    """Calls that share a graph on trust: what varies among its calls was never symbolic at once, or their own
    graphs broke elsewhere."""


class Predictor:
    """Replays one frame."""

    def __init__(self, observed: Observations) -> None:
        self.observed = observed
        self.explained = len(self.replay(NOTHING)) == len(observed.compiles)
        """Whether the replay of the recorded run gives its recorded compiles."""

    def predict(self, declaration: Declaration) -> Prediction:
        """The frame's compiles with the declaration."""
        observed = self.observed
        if not self._reached(declaration):
            graphs = [Graph([call], frozenset()) for call in observed.compiles]
            compiles = len(observed.frame.compiles)
            return Prediction(Range(compiles, compiles), (), tuple(graphs), ())
        graphs = self.replay(declaration)
        low = max(1, len(graphs) + sum(_stays(call, graphs) for call in observed.blind))
        together = compiles_never_together(observed, graphs)
        found = tuple(
            doubts(Replayed(observed, declaration, graphs, low, self.explained, together))
        )
        further = [doubt.more for doubt in found]
        high = None if None in further else low + max((more or 0 for more in further), default=0)
        unproven = (*together, *compiles_in_doubt(graphs, "path"))
        return Prediction(Range(low, high), found, tuple(graphs), unproven)

    def fewest_by_sizes(self, declaration: Declaration) -> int:
        """Compiles with the declaration if nothing but sizes and numbers differed between the calls."""
        return len(self.replay(declaration, asked=OF_SIZES))

    def why_separate(
        self, prediction: Prediction, call: Compile, declaration: Declaration
    ) -> Objection | None:
        """What keeps a call that has a graph of its own from the one before it; None for the first."""
        earlier: Graph | None = None
        for graph in prediction.graphs:
            if graph.compiled_for is call:
                break
            earlier = graph
        return None if earlier is None else next(self._refusals(earlier, call, declaration), None)

    def loses(self, pair: SourceDim, prediction: Prediction) -> bool:
        """Whether calls that are not recorded, since they compiled nothing, may compile as is predicted.

        The recorded graphs took any size of the pair, the predicted ones in their place do not. After the
        recompile limit was hit no call is recorded at all, nor what stands outside of a piece of text.
        """
        observed = self.observed
        cut = observed.after_limit or observed.frame.hit_limit or observed.frame.has_unseen
        if pair in observed.at_limit or (pair in observed.varying and cut):
            return True
        return any(
            graph.fixes(pair, call) and call.equal_pairs(pair) <= graph.dynamic
            for graph in prediction.graphs
            for call in graph.compiles
        )

    def unites(
        self, pairs: Collection[SourceDim], declaration: Declaration, prediction: Prediction
    ) -> bool:
        """Whether calls that share graphs on trust would share others with these pairs declared.

        If the graphs that are thought to take them do not, that saves compiles.
        """
        more = declaration.beside(pairs)

        def separated(compiles: Sequence[Compile]) -> bool:
            return len(self.replay(declaration, compiles)) > len(self.replay(more, compiles))

        unproven = prediction.unproven
        return separated(unproven) or any(
            separated((earlier, later))
            for earlier, later in combinations(self.observed.compiles, 2)
            if (earlier in unproven or later in unproven)
            and any(_differ(earlier.value(pair), later.value(pair)) for pair in pairs)
        )

    def replay(
        self,
        declaration: Declaration,
        compiles: Sequence[Compile] | None = None,
        asked: Sequence[Objector] = OBJECTIONS,
    ) -> list[Graph]:
        """The graphs that these calls, else all, would bring about, if only what is `asked` could object."""
        never = [pair for pair in self.observed.never if pair not in declaration]
        automatic = AutomaticDynamic(never)
        failing: dict[tuple[int, int], int | None] = {}
        graphs: list[Graph] = []
        for call in self.observed.compiles if compiles is None else compiles:
            for graph in graphs:
                lookup = Lookup(graph, call, declaration, self.observed, failing)
                if _takes(lookup, asked):
                    break
            else:
                graphs.append(compile_graph(call, automatic, declaration, self.observed))
        return graphs

    def _refusals(
        self, graph: Graph, call: Compile, declaration: Declaration
    ) -> Iterator[Objection]:
        lookup = Lookup(graph, call, declaration, self.observed, {})
        return (found for ask in OBJECTIONS for found in ask(lookup) if found.certain)

    def _reached(self, declaration: Declaration) -> bool:
        """Whether the declaration changes anything here: a name of this frame, or what calls it."""
        observed = self.observed
        return (
            observed.after_limit
            or observed.after_break
            or observed.frame.has_unseen
            or observed.frame.called_from_compiled
            or any(pair in declaration for pair in observed.named)
        )


def _takes(lookup: Lookup, asked: Sequence[Objector]) -> bool:
    """Whether nothing certain objects; then the call joins the graph, with what is not certain."""
    unsure: list[Objection] = []
    for ask in asked:
        for objection in ask(lookup):
            if objection.certain:
                return False
            unsure.append(objection)
    graph, call = lookup.graph, lookup.call
    graph.compiles.append(call)
    graph.unsure += ((call, objection) for objection in unsure)
    return True


def _stays(call: Compile, graphs: Sequence[Graph]) -> bool:
    """Whether a compile whose inputs are not recorded is sure to come.

    What console text only implies may be one graph with all others.
    """
    if call.outcome == "limit":
        return _refused_by_all(call, graphs)
    return not call.partial or call.outcome not in ("graph", "unseen")


def _refused_by_all(call: Compile, graphs: Sequence[Graph]) -> bool:
    """Whether no graph would take a call of which only PyTorch's reasons are known."""
    refusing = call.refused_by.keys()
    return all(refusing & {member.key for member in graph.compiles} for graph in graphs)


def _differ(one: int | str | None, other: int | str | None) -> bool:
    return None not in (one, other) and one != other
