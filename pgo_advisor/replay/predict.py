"""How many compiles a frame would have had, with given pairs dynamic from the first call on.

Every recorded compile is a call with known inputs. They are replayed in their order against the
graphs that would exist then: a call that a graph takes compiles nothing. What objects is what
Dynamo guards on: structure, sizes, strides, the branches that recorded guards tell of.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import Relation
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic
from pgo_advisor.replay.decisions import installed_decisions
from pgo_advisor.replay.frames import Call, Frame, GuardFailure, pair_of, pairs
from pgo_advisor.replay.guarding import (
    SIZE_CAUSES,
    Marked,
    failing_guard,
    is_about,
    is_marked,
    paths_agree,
    strides_fit,
)
from pgo_advisor.replay.observations import (
    given_pairs,
    joined_to_bases,
    met_at_limit,
    never_automatic,
    pinned_pairs,
    varying_pairs,
    view_bases,
)
from pgo_advisor.replay.uncertainty import broken_apart, doubts, on_trust
from pgo_advisor.report import Range


@dataclass
class Graph:
    """A graph of the replay: the call that brought it about, and those that it took."""

    calls: list[Call]
    dynamic: frozenset[SourceDim]
    loose: frozenset[str]
    """Tensors whose strides are symbols, though no size is."""
    joined: tuple[frozenset[SourceDim], ...]
    """Sizes that share a symbol by duck sizing, in groups."""

    @property
    def founder(self) -> Call:
        return self.calls[0]

    def fixes(self, pair: SourceDim, call: Call) -> bool:
        """Whether it fixes a pair, or joins it to others, that the call's recorded graph left free."""
        return (
            pair in call.symbolic
            and pair not in call.pinned
            and self.founder.value(pair) not in (None, 0, 1)
            and (
                pair not in self.dynamic
                or any(
                    pair in group and group - {pair} - call.equal_pairs(pair)
                    for group in self.joined
                )
            )
        )


@dataclass(frozen=True)
class Prediction:
    """Compiles of one frame, as a range, with the reasons why it is one; empty if it is exact."""

    compiles: Range
    reasons: tuple[str, ...]
    graphs: tuple[Graph, ...] = field(repr=False)
    trusted: tuple[Call, ...] = field(repr=False)
    """Calls that share a graph on trust: what varies among its calls was never symbolic at once, or their own
    graphs broke elsewhere."""


class Predictor:
    """Replays one frame.

    `seen` are pairs that were symbols in the same code elsewhere, as on another rank: what the code does
    with such a symbol is known then. `after_limit`: the frame goes on where another breaks that hit the
    recompile limit; `after_break`: where another breaks in some of its graphs only.
    """

    def __init__(
        self,
        frame: Frame,
        seen: Collection[SourceDim] = (),
        *,
        after_limit: bool = False,
        after_break: bool = False,
    ) -> None:
        self.after_limit = after_limit
        self.after_break = after_break
        self.frame = frame
        self.calls = [
            call for call in frame.calls if call.tensors or call.scalars or call.structure
        ]
        self._blind = [call for call in frame.calls if call not in self.calls]
        self.varying = varying_pairs(self.calls)
        self.at_limit = met_at_limit(frame.calls, self.varying)
        self.pinned = pinned_pairs(self.calls, self.varying)
        self.never = never_automatic(self.calls, self.varying)
        self.given = given_pairs(self.calls)
        self.bases = view_bases(self.calls)
        self.joined_to_bases = joined_to_bases(self.calls)
        constant = {pair for call in self.calls for pair in pairs(call) if pair not in self.varying}
        self.never_symbols = constant.difference(seen, *(call.symbolic for call in self.calls))
        self._installed_decisions: dict[int, list[Relation]] = {}
        self._refusals: dict[int, dict[int, list[GuardFailure]]] = {}
        self.self_check = self._replays_as_recorded()

    def fewest_by_sizes(self, marked: Marked) -> int:
        """Compiles with `marked` pairs dynamic if nothing but sizes and ints differed between the calls."""
        return len(self._replay(marked, structural=False))

    def predict(self, marked: Marked, *, unbacked: Collection[SourceDim] = ()) -> Prediction:
        """The frame's compiles with `marked` pairs dynamic, the `unbacked` ones for sizes 0 and 1 too."""
        if not self._reached(marked):
            graphs = [Graph([call], frozenset(), frozenset(), ()) for call in self.calls]
            compiles = len(self.frame.calls)
            return Prediction(Range(compiles, compiles), (), tuple(graphs), ())
        graphs = self._replay(marked, unbacked=unbacked)
        low = len(graphs) + sum(
            call.outcome != "limit" or self._refused_by_all(call, graphs) for call in self._blind
        )
        trusted = on_trust(self, graphs)
        apart = broken_apart(graphs)
        doubted = list(doubts(self, graphs, marked, low, trusted=len(trusted), apart=len(apart)))
        further = [more for _, more in doubted]
        high = None if None in further else low + max((more or 0 for more in further), default=0)
        reasons = tuple(reason for reason, _ in doubted)
        return Prediction(Range(low, high), reasons, tuple(graphs), (*trusted, *apart))

    def _reached(self, marked: Marked) -> bool:
        """Whether the declaration changes anything here: a name of this frame, or what calls it."""
        return (
            self.after_limit
            or self.after_break
            or self.frame.called_from_compiled
            or any(marked(*pair) for pair in self._named)
        )

    @cached_property
    def _named(self) -> frozenset[SourceDim]:
        """All pairs by whose declaration something can change here."""
        inputs = {pair for call in self.calls for pair in pairs(call)}
        return frozenset(inputs).union(self.varying, self.at_limit, *self.bases.values())

    def concerns(self, pair: SourceDim) -> bool:
        """Whether declaring the pair can change anything in this frame."""
        return (
            pair in self.varying
            or pair in self.at_limit
            or pair in self.joined_to_bases
            or any(pair in bases for bases in self.bases.values())
        )

    def loses(self, pair: SourceDim, prediction: Prediction) -> bool:
        """Whether calls that are not recorded, since they compiled nothing, may compile as is predicted.

        The recorded graphs took any size of the pair, the predicted ones in their place do not. After the
        recompile limit was hit no call is recorded at all.
        """
        limited = self.after_limit or any(call.outcome == "limit" for call in self._blind)
        if pair in self.at_limit or (pair in self.varying and limited):
            return True
        return any(
            graph.fixes(pair, call) and call.equal_pairs(pair) <= graph.dynamic
            for graph in prediction.graphs
            for call in graph.calls
        )

    def unites(self, pairs: Collection[SourceDim], marked: Marked, prediction: Prediction) -> bool:
        """Whether calls that share graphs on trust would share others with these pairs declared.

        If the graphs that are thought to take them do not, that saves compiles.
        """

        def separated(calls: Sequence[Call]) -> bool:
            return len(self._replay(marked, calls)) > len(
                self._replay(lambda *pair: pair in pairs or marked(*pair), calls)
            )

        trusted = prediction.trusted
        return separated(trusted) or any(
            separated((earlier, later))
            for earlier, later in combinations(self.calls, 2)
            if (earlier in trusted or later in trusted)
            and any(_differ(earlier.value(pair), later.value(pair)) for pair in pairs)
        )

    def _refused_by_all(self, call: Call, graphs: Sequence[Graph]) -> bool:
        """Whether no graph would take a call of which only PyTorch's reasons are known."""
        refusing = self._structural_refusals(call).keys()
        return all(refusing & {member.compile for member in graph.calls} for graph in graphs)

    def _structural_refusals(self, call: Call) -> dict[int, list[GuardFailure]]:
        """PyTorch's reasons that are not about sizes, by the compile whose graph did not take the call."""
        if call.compile not in self._refusals:
            found = self._refusals[call.compile] = {}
            for refusal in call.refusals:
                if refusal.against is not None and refusal.cause not in SIZE_CAUSES:
                    found.setdefault(refusal.against, []).append(refusal)
        return self._refusals[call.compile]

    def _replays_as_recorded(self) -> bool:
        graphs = self._replay(lambda source, dim: False)
        return len(graphs) == len(self.calls)

    def _replay(
        self,
        marked: Marked,
        calls: Sequence[Call] | None = None,
        *,
        unbacked: Collection[SourceDim] = (),
        structural: bool = True,
    ) -> list[Graph]:
        automatic = AutomaticDynamic([pair for pair in self.never if not marked(*pair)])
        graphs: list[Graph] = []
        for call in self.calls if calls is None else calls:
            taken = next(
                (
                    graph
                    for graph in graphs
                    if not (structural and self.structure_objects(graph, call))
                    and self._sizes_fit(graph, call, marked, unbacked)
                ),
                None,
            )
            if taken is not None and call.outcome != "failed":
                taken.calls.append(call)
                continue
            automatically = automatic.dynamic(call) | call.marked
            loose = frozenset(automatic.loose)
            automatically.update(pair for pair in self.given if call.value(pair) is not None)
            dynamic = automatically | {pair for pair in pairs(call) if marked(*pair)}
            for group in call.pinned_groups:
                shared = {pair for pair in group & dynamic if not marked(*pair)}
                if len(shared) > 1:
                    dynamic -= shared
            dynamic -= {
                pair
                for pair, bases in self.bases.items()
                if pair not in automatically and not all(marked(*base) for base in bases)
            }
            graphs.append(
                Graph(
                    [call],
                    frozenset(
                        pair
                        for pair in dynamic - self.pinned
                        if pair in unbacked or pair.dim is None or call.value(pair) not in (0, 1)
                    ),
                    loose,
                    tuple(
                        frozenset(
                            pair
                            for name in group
                            if not is_marked(name, call, marked) and (pair := pair_of(name))
                        )
                        for group in call.duck_groups
                    ),
                )
            )
        return graphs

    def structure_objects(self, graph: Graph, call: Call) -> bool:
        """Whether something that no declaration changes keeps the call from the graph."""
        founder = graph.founder
        refused = self._structural_refusals(call)
        if any(
            member is founder or not _is_of_the_member(refusal, founder)
            for member in graph.calls
            for refusal in refused.get(member.compile, ())
        ):
            return True
        if any(call.structure.get(key, value) != value for key, value in founder.structure.items()):
            return True
        if founder.dynamic != call.dynamic:
            return True
        # a graph of an unmarked tensor does not take a marked one; the reverse it does
        if any(
            source in founder.marks and not marks <= founder.marks[source]
            for source, marks in call.marks.items()
        ):
            return True
        if call.marked_unseen and not founder.marked_unseen:
            return True
        return not call.marked & set(pairs(founder)) <= founder.marked

    def _sizes_fit(
        self, graph: Graph, call: Call, marked: Marked, unbacked: Collection[SourceDim]
    ) -> bool:
        founder = graph.founder
        return (
            founder.outcome not in {"failed", "limit"}
            and all(
                self.same_or_dynamic(founder, call, pair, graph.dynamic, unbacked)
                for pair in self.varying
            )
            and strides_fit(founder, call, graph.dynamic, graph.loose)
            and failing_guard(founder, call, marked, unbacked) is None
            and self.parting_decision(founder, call, marked, unbacked) is None
            and paths_agree(founder, call, self.varying)
        )

    def same_or_dynamic(
        self,
        founder: Call,
        call: Call,
        pair: SourceDim,
        dynamic: Collection[SourceDim],
        unbacked: Collection[SourceDim] = (),
    ) -> bool:
        """Whether a graph with these `dynamic` pairs takes the call's value of the pair."""
        before, now = founder.value(pair), call.value(pair)
        if before == now or before is None or now is None:
            return True
        if pair.dim is not None and len(founder.tensors[pair.source].size) != len(
            call.tensors[pair.source].size
        ):
            return False
        return pair in dynamic and (pair in unbacked or pair.dim is None or now not in (0, 1))

    def parting_decision(
        self, founder: Call, call: Call, marked: Marked, unbacked: Collection[SourceDim] = ()
    ) -> str | None:
        """A compile's decision on sizes that does not come out alike for both calls; None if all do.

        Only compiles tell whose pairs were symbols where they differ from the two calls; and of the two
        calls' decisions, the first that fails has to be the same one.
        """
        for other in self._deciding:
            if other is founder:
                continue
            if any(
                pair not in other.symbolic
                and len(
                    {value for c in (founder, call, other) if (value := c.value(pair)) is not None}
                )
                > 1
                for pair in self.varying
            ):
                continue
            first, second = (
                self._first_failing(other, c, marked, unbacked) for c in (founder, call)
            )
            if first != second:
                decisions = self._decisions(other)
                places = [place for place in (first, second) if place is not None and place >= 0]
                return decisions[min(places)].named(other.symbols) if places else "another decision"
        return None

    @cached_property
    def _deciding(self) -> list[Call]:
        """The compiles with decisions on sizes, one of each kind that judges all other calls alike."""
        kinds: dict[object, Call] = {}
        for call in self.calls:
            if call.decisions or call.installed:
                installed = tuple((relation.text, duck) for relation, duck in call.installed)
                kind = (
                    installed,
                    tuple(decision.text for decision in self._decisions(call)),
                    tuple(call.symbols.items()),
                    frozenset(call.symbolic),
                    tuple(call.value(pair) for pair in self.varying if pair not in call.symbolic),
                    # reasons name the compile whose graph missed a view's base
                    call.compile if call.guards_a_base else None,
                )
                kinds.setdefault(kind, call)
        return list(kinds.values())

    def _first_failing(
        self, other: Call, call: Call, marked: Marked, unbacked: Collection[SourceDim]
    ) -> int | None:
        """Which of `other`'s decisions fails first for `call`; None if its graph takes the call."""
        if failing_guard(other, call, marked, unbacked) is None:
            return None
        for index, decision in enumerate(self._decisions(other)):
            if is_about(decision, unbacked, other.symbols):
                continue
            values = {name: call.number(other.symbols.get(name, name)) for name in decision.names}
            known = {name: value for name, value in values.items() if value is not None}
            if decision.holds(known) is False:
                return index
        return -1

    def _decisions(self, call: Call) -> list[Relation]:
        if call.compile not in self._installed_decisions:
            self._installed_decisions[call.compile] = installed_decisions(call)
        return self._installed_decisions[call.compile]


def _differ(one: int | str | None, other: int | str | None) -> bool:
    return None not in (one, other) and one != other


def _is_of_the_member(refusal: GuardFailure, founder: Call) -> bool:
    """Whether a graph refused a call by a guard that the founder of the graph in its place has not."""
    if refusal.of_a_base:
        return not founder.guards_a_base
    return refusal.cause is CauseKind.marking_changed
