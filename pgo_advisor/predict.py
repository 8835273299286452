"""How many compiles a frame would have had, with given pairs dynamic from the first call on.

Every recorded compile is a call with known inputs. They are replayed in their order against the
graphs that would exist then: a call that a graph takes compiles nothing. What objects is what
Dynamo guards on: structure, sizes, strides, the branches that recorded guards tell of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pgo_advisor.automatic import AutomaticDynamic, inferred_strides
from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.history import Call, Frame, Pair, Tensor

SIZE_CAUSES = frozenset(
    {
        CauseKind.tensor_size,
        CauseKind.tensor_stride,
        CauseKind.int_value,
        CauseKind.float_value,
        CauseKind.zero_one,
        CauseKind.symbolic_range,
        CauseKind.equal_dims,
        CauseKind.divisibility,
        CauseKind.symbolic_relation,
        CauseKind.entry_deleted,
        CauseKind.recompile_limit,
        CauseKind.unknown,
    }
)
"""Causes that the replay decides by itself, from sizes and values, or that say nothing of the inputs."""

Marked = Callable[[str, int | None], bool]
"""Whether the advice makes a pair dynamic, as `(source, dim)`."""


class Range(NamedTuple):
    """A number of compiles; `high` is None where nothing bounds it from above."""

    low: int
    high: int | None

    def __add__(self, other: object) -> Range:
        if not isinstance(other, Range):
            return NotImplemented
        high = None if self.high is None or other.high is None else self.high + other.high
        return Range(self.low + other.low, high)

    @property
    def exact(self) -> bool:
        return self.low == self.high


@dataclass
class Graph:
    """A graph of the replay: the call that brought it about, and those that it took."""

    calls: list[Call]
    dynamic: frozenset[Pair]

    @property
    def founder(self) -> Call:
        return self.calls[0]


@dataclass(frozen=True)
class Prediction:
    """Compiles of one frame, as a range, with the reasons why it is one; empty if it is exact."""

    compiles: Range
    reasons: tuple[str, ...]
    graphs: tuple[Graph, ...] = field(repr=False)


class Predictor:
    """Replays one frame.

    `seen` are pairs that were symbols in the same code elsewhere, as on another rank: what the code does
    with such a symbol is known then.
    """

    def __init__(self, frame: Frame, seen: Collection[Pair] = ()) -> None:
        self.frame = frame
        self.calls = [
            call for call in frame.calls if call.tensors or call.scalars or call.structure
        ]
        self._blind = [call for call in frame.calls if call not in self.calls]
        self.varying = _varying(self.calls)
        self.pinned = _pinned(self.calls, self.varying)
        self.never = _never_automatic(self.calls, self.varying)
        self.given = _given(self.calls)
        constant = {
            pair for call in self.calls for pair in _pairs(call) if pair not in self.varying
        }
        self._never_symbols = constant.difference(seen, *(call.symbolic for call in self.calls))
        self.self_check = self._replays_as_recorded()

    def predict(self, marked: Marked, *, unbacked: Collection[Pair] = ()) -> Prediction:
        """The frame's compiles with `marked` pairs dynamic, the `unbacked` ones for sizes 0 and 1 too."""
        graphs = self._replay(marked, unbacked=unbacked)
        low = len(graphs) + sum(call.outcome != "limit" for call in self._blind)
        doubts = list(self._doubts(graphs, marked, low))
        further = [more for _, more in doubts]
        high = None if None in further else low + max((more or 0 for more in further), default=0)
        return Prediction(Range(low, high), tuple(reason for reason, _ in doubts), tuple(graphs))

    def _doubts(
        self, graphs: Sequence[Graph], marked: Marked, low: int
    ) -> Iterator[tuple[str, int | None]]:
        """Why the replay may be off, each with how many compiles more there may be in all; None: no bound."""
        avoided = max(0, len(self.frame.calls) - low)
        if not self.self_check:
            yield "replaying the recorded run does not give its recorded compiles", avoided
        if unseen := self._unseen_together(graphs):
            yield "sizes that would share a graph were never symbols together", unseen
        if any(call.outcome == "empty" for call in self.frame.calls) and avoided:
            yield (
                "a call that compiled nothing may compile once its sizes are symbols",
                avoided + 1,
            )
        if any(pair in self.varying and marked(*pair) for pair in self.never):
            yield "parameters, buffers or ints of modules were never symbols in this run", avoided
        if any(
            _is_marked(name, call, marked)
            for call in self.calls
            for group in call.duck_groups
            for name in group
        ):
            yield "sizes that shared a symbol by duck sizing are declared apart", avoided
        if strange := [pair for pair in self._never_symbols if marked(*pair)]:
            declared = {pair.source for pair in self.varying if marked(*pair)}
            beside = all(pair.source in declared for pair in strange)
            yield (
                "a size that never varied here is declared with its source, and was never a symbol",
                avoided if beside else None,
            )
        if any(call.outcome == "limit" for call in self.frame.calls):
            yield "after the recompile limit was hit, nothing more was recorded", None

    def _replays_as_recorded(self) -> bool:
        graphs = self._replay(lambda source, dim: False)
        return len(graphs) == len(self.calls)

    def _replay(self, marked: Marked, *, unbacked: Collection[Pair] = ()) -> list[Graph]:
        automatic = AutomaticDynamic([pair for pair in self.never if not marked(*pair)])
        graphs: list[Graph] = []
        for call in self.calls:
            taken = next(
                (graph for graph in graphs if self._takes(graph, call, marked, unbacked)), None
            )
            if taken is not None and call.outcome != "failed":
                taken.calls.append(call)
                continue
            dynamic = automatic.dynamic(call) | call.marked
            dynamic.update(pair for pair in self.given if call.value(pair) is not None)
            dynamic.update(pair for pair in _pairs(call) if marked(*pair))
            graphs.append(
                Graph(
                    [call],
                    frozenset(
                        pair
                        for pair in dynamic - self.pinned
                        if pair in unbacked or pair.dim is None or call.value(pair) not in (0, 1)
                    ),
                )
            )
        return graphs

    def _takes(self, graph: Graph, call: Call, marked: Marked, unbacked: Collection[Pair]) -> bool:
        founder = graph.founder
        if founder.outcome in {"failed", "limit"}:
            return False
        members = {member.compile for member in graph.calls}
        if any(
            refusal.against in members and refusal.cause not in SIZE_CAUSES
            for refusal in call.refusals
        ):
            return False
        if any(call.structure.get(key, value) != value for key, value in founder.structure.items()):
            return False
        if not call.marked & set(_pairs(founder)) <= founder.marked:
            # a graph of an unmarked tensor does not take a marked one; the reverse it does
            return False
        if not all(
            self._same_or_dynamic(founder, call, pair, graph.dynamic, unbacked)
            for pair in self.varying
        ):
            return False
        return (
            _strides_fit(founder, call, graph.dynamic)
            and (unbacked or _guards_hold(founder, call, marked))
            and (unbacked or self._same_branches(founder, call, marked))
            and _paths_agree(founder, call, self.varying)
        )

    def _same_or_dynamic(
        self,
        founder: Call,
        call: Call,
        pair: Pair,
        dynamic: Collection[Pair],
        unbacked: Collection[Pair],
    ) -> bool:
        before, now = founder.value(pair), call.value(pair)
        if before == now or before is None or now is None:
            return True
        if pair.dim is not None and len(founder.tensors[pair.source].size) != len(
            call.tensors[pair.source].size
        ):
            return False
        return pair in dynamic and (pair in unbacked or pair.dim is None or now not in (0, 1))

    def _same_branches(self, founder: Call, call: Call, marked: Marked) -> bool:
        """Whether every compile's decisions on sizes come out alike for both calls.

        Only compiles tell whose pairs were symbols where they differ from the two calls; and of the two
        calls' decisions, the first that fails has to be the same one.
        """
        for other in self.calls:
            if other is founder or (not other.decisions and not other.installed):
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
            if self._first_failing(other, founder, marked) != self._first_failing(
                other, call, marked
            ):
                return False
        return True

    def _first_failing(self, other: Call, call: Call, marked: Marked) -> int | None:
        """Which of `other`'s decisions fails first for `call`; None if its graph takes the call."""
        if _guards_hold(other, call, marked):
            return None
        for index, decision in enumerate(other.decisions):
            values = {name: call.number(other.symbols.get(name, name)) for name in decision.names}
            known = {name: value for name, value in values.items() if value is not None}
            if decision.holds(known) is False and not self._never_installed(other, index, marked):
                return index
        return -1

    def _never_installed(self, other: Call, index: int, marked: Marked) -> bool:
        """Whether some call passes all of `other`'s installed guards and fails this decision."""
        decision = other.decisions[index]
        for call in self.calls:
            values = {name: call.number(other.symbols.get(name, name)) for name in decision.names}
            known = {name: value for name, value in values.items() if value is not None}
            if decision.holds(known) is False and _guards_hold(other, call, marked):
                return True
        return False

    def _unseen_together(self, graphs: Sequence[Graph]) -> int:
        """How many calls share a graph on trust: what varies among them was never symbolic at once."""
        count = 0
        for graph in graphs:
            varying = {
                pair
                for pair in self.varying
                if len({value for call in graph.calls if (value := call.value(pair)) is not None})
                > 1
            }
            if len(graph.calls) > 1 and not any(
                varying <= call.symbolic - call.pinned for call in graph.calls
            ):
                count += len(graph.calls) - 1
        return count


def _pairs(call: Call) -> list[Pair]:
    pairs = [
        Pair(source, dim)
        for source, tensor in call.tensors.items()
        for dim in range(len(tensor.size))
    ]
    return pairs + [
        Pair(source, None) for source, scalar in call.scalars.items() if scalar.kind == "int"
    ]


def _varying(calls: Sequence[Call]) -> dict[Pair, int]:
    """Pairs with several values, with how many; a tensor whose rank changes has all its dims here."""
    values: dict[Pair, set[int | str]] = {}
    ranks: dict[str, set[int]] = {}
    for call in calls:
        for source, tensor in call.tensors.items():
            ranks.setdefault(source, set()).add(len(tensor.size))
        for pair in [*_pairs(call), *(Pair(source, None) for source in call.scalars)]:
            if (value := call.value(pair)) is not None:
                values.setdefault(pair, set()).add(value)
    return {
        pair: len(found)
        for pair, found in values.items()
        if len(found) > 1 or (pair.dim is not None and len(ranks[pair.source]) > 1)
    }


def _pinned(calls: Sequence[Call], varying: Mapping[Pair, int]) -> frozenset[Pair]:
    """Pairs that the code pins, whatever is declared.

    A pin counts in a compile in which everything that varies was a symbol: against a partner that
    was still static it proves nothing.
    """
    pinned: dict[Pair, bool] = {}
    for call in calls:
        if all(pair in call.symbolic or call.value(pair) is None for pair in varying):
            for pair in call.symbolic:
                pinned[pair] = pinned.get(pair, True) and pair in call.pinned
    return frozenset(pair for pair, always in pinned.items() if always)


def _given(calls: Sequence[Call]) -> frozenset[Pair]:
    """Pairs that were symbols in the first compile that had them: marked, listed, or profiled before."""
    seen: set[Pair] = set()
    given: set[Pair] = set()
    for call in calls:
        fresh = {*_pairs(call), *(Pair(source, None) for source in call.scalars)} - seen
        given.update(pair for pair in fresh if pair in call.symbolic and pair not in call.marked)
        seen |= fresh
    return frozenset(given)


def _never_automatic(calls: Sequence[Call], varying: Mapping[Pair, int]) -> frozenset[Pair]:
    """Pairs that automatic dynamic passed over: of parameters and buffers, and ints that stayed constants
    although they had had two values before."""
    never: set[Pair] = set()
    seen: dict[Pair, set[int | str]] = {}
    for call in calls:
        for pair in varying:
            value = call.value(pair)
            if value is None:
                continue
            if pair.dim is not None:
                if call.tensors[pair.source].is_parameter and pair not in call.symbolic:
                    never.add(pair)
            else:
                seen.setdefault(pair, set()).add(value)
                if len(seen[pair]) > 1 and pair not in call.symbolic and call.dynamic != "false":
                    never.add(pair)
    return frozenset(never)


def _strides_fit(founder: Call, call: Call, dynamic: Collection[Pair]) -> bool:
    for source, tensor in founder.tensors.items():
        other = call.tensors.get(source)
        if other is None or (tensor.size == other.size and tensor.stride == other.stride):
            continue
        if len(tensor.size) != len(other.size):
            return False
        if not any(Pair(source, dim) in dynamic for dim in range(len(tensor.size))):
            if tensor.stride != other.stride:
                return False
        elif not _stride_follows(tensor, other):
            return False
    return True


def _stride_follows(tensor: Tensor, other: Tensor) -> bool:
    for dim, atom in enumerate(inferred_strides(tensor)):
        stride = other.stride[dim]
        if isinstance(atom, str):
            base = int(atom[2:-1])
            size, base_stride = other.size[base], other.stride[base]
            if None not in (size, base_stride, stride) and stride != size * base_stride:  # type: ignore[operator]
                return False
        elif (atom in (0, 1) and stride != atom) or (stride in (0, 1) and stride != atom):
            return False
    return _contiguous(tensor) == _contiguous(other)


def _contiguous(tensor: Tensor) -> bool:
    expected = 1
    for size, stride in zip(reversed(tensor.size), reversed(tensor.stride), strict=True):
        if size is None or stride is None:
            return True
        if size != 1 and stride != expected:
            return False
        expected *= max(size, 1)
    return True


def _guards_hold(founder: Call, call: Call, marked: Marked) -> bool:
    """Whether the shape guards of the founder's recorded graph let the call pass.

    An equality by duck sizing goes when one of its sides is declared: it gets a symbol of its own. Of which
    side another guard on their common symbol speaks is not recorded, so one that it fits is enough.
    """
    groups = [
        group
        for group in founder.duck_groups
        if any(_is_marked(name, founder, marked) for name in group)
    ]
    for relation, duck in founder.installed:
        shared = [group for group in groups if group & relation.names]
        if duck and shared:
            continue
        values = {name: call.number(name) for name in relation.names}
        readings = [values] + [
            {**values, **dict.fromkeys(group & relation.names, call.number(member))}
            for group in shared
            for member in group
        ]
        if all(
            relation.holds({name: value for name, value in reading.items() if value is not None})
            is False
            for reading in readings
        ):
            return False
    return True


def _is_marked(name: str, call: Call, marked: Marked) -> bool:
    source, _, rest = name.partition(".size()[")
    return marked(source, int(rest.rstrip("]"))) if rest else marked(source, None)


def _paths_agree(founder: Call, call: Call, varying: Collection[Pair]) -> bool:
    """Different graphs from the same symbols are different branches."""
    if founder.path is None or call.path is None or founder.path == call.path:
        return True
    return {pair for pair in varying if pair in founder.symbolic} != {
        pair for pair in varying if pair in call.symbolic
    }
