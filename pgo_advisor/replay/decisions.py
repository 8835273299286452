"""Which of the decisions that tracing took on sizes ended up as guards of the graph.

While tracing, PyTorch records every decision on symbols (`guard_added_fast`), also some that it never
installs: bounds of storages, trials of the backend. What is installed (`LAMBDA_GUARD`) is simplified
and sorted, so the decisions alone tell the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice

from pgo_advisor.dynamo.shape_guards import Number, Relation, parse_relation
from pgo_advisor.dynamo.sources import SourceDim, declarable
from pgo_advisor.replay.compiles import Compile


class Decisions:
    """The decisions of a frame's compiles."""

    def __init__(self, compiles: Sequence[Compile], varying: Collection[SourceDim]) -> None:
        self._compiles = compiles
        self._varying = varying
        self._installed: dict[int, list[Relation]] = {}

    def of(self, call: Compile) -> list[Relation]:
        """What a compile decided and its graph checks, in the order of tracing."""
        if call.key not in self._installed:
            self._installed[call.key] = installed_decisions(call)
        return self._installed[call.key]

    @cached_property
    def deciding(self) -> list[Compile]:
        """The compiles with decisions on sizes, one of each kind that judges all other calls alike."""
        kinds: dict[object, Compile] = {}
        for call in self._compiles:
            if call.decisions or call.installed:
                kinds.setdefault(self._kind(call), call)
        return list(kinds.values())

    def _kind(self, call: Compile) -> object:
        return (
            tuple((relation.text, duck) for relation, duck in call.installed),
            tuple(decision.text for decision in self.of(call)),
            tuple(call.symbols.items()),
            frozenset(call.symbolic),
            tuple(call.value(pair) for pair in self._varying if pair not in call.symbolic),
            # reasons name the compile whose graph missed a view's base
            call.key if call.guards_a_base else None,
        )


def installed_decisions(call: Compile) -> list[Relation]:
    """The call's decisions that follow from its graph's installed guards, in the order of tracing.

    That is tried on numbers: a decision that fails where all installed guards hold was never installed.
    """
    guards = [relation for relation, _ in call.installed if not relation.is_about_strides()]
    asked = {symbol: call.symbols.get(symbol, symbol) for symbol in _names(call.decisions)}
    numbers = [(name, call.number(name)) for name in sorted({*asked.values(), *_names(guards)})]
    # the same code with the same sizes is met again on every rank
    kept = _follow(
        tuple(decision.text for decision in call.decisions),
        tuple(guard.text for guard in guards),
        tuple(asked.items()),
        tuple((name, number) for name, number in numbers if number is not None),
    )
    return [call.decisions[place] for place in kept]


def _names(relations: Iterable[Relation]) -> list[str]:
    return sorted({name for relation in relations for name in relation.names})


@lru_cache(1024)
def _follow(
    decisions: tuple[str, ...],
    guards: tuple[str, ...],
    symbols: tuple[tuple[str, str], ...],
    numbers: tuple[tuple[str, Number], ...],
) -> list[int]:
    """The places of the decisions that follow from the guards; `numbers` are the call's own."""
    trial = _Trial([found for text in guards if (found := parse_relation(text))], dict(numbers))
    name_of = dict(symbols)
    return [
        place
        for place, text in enumerate(decisions)
        if (decision := parse_relation(text)) and not trial.refutes(decision, name_of)
    ]


class _Trial:
    """The installed guards of a graph, tried on other numbers than the call's own."""

    def __init__(self, guards: Sequence[Relation], own: Mapping[str, Number]) -> None:
        self._guards = guards
        self._own = own
        self._equal = _equal_names(guards)

    def refutes(self, decision: Relation, name_of: Mapping[str, str]) -> bool:
        """Whether numbers are found that pass all guards, and for which the decision is false."""
        names = sorted({name_of[symbol] for symbol in decision.names})
        return any(
            decision.holds({symbol: sample[name_of[symbol]] for symbol in decision.names}) is False
            and all(guard.holds(sample) is not False for guard in self._guards)
            for sample in islice(self._samples(names, decision.numbers), _MAX_SAMPLES)
        )

    def _samples(self, names: list[str], told: Collection[Number]) -> Iterator[dict[str, Number]]:
        """The call's numbers with those of these names, which a decision is about, replaced by others.

        A relation changes at the numbers that stand in it, at the call's own, and at what these give with
        one another, as `4 * s <= 32` at 8: each is taken with its neighbours. Of two names that it is about
        one follows the other.
        """
        if not all(name in self._own for name in names):
            return
        own = {self._own[name] for name in names}
        near = own.union(told, *(guard.numbers for guard in self._about(names)))
        if len(names) == 2:
            first, second = names
            for one in _neighbours(near):
                for other in _neighbours(near | _combined({one}, told)):
                    yield from self._sample({first: one, second: other})
            return
        for name in names:
            for number in _neighbours(near | _combined(own.union(told), told)):
                yield from self._sample({name: number})

    def _about(self, names: list[str]) -> Iterator[Relation]:
        known = set(names).union(*(self._equal.get(name, ()) for name in names))
        return (guard for guard in self._guards if guard.names & known)

    def _sample(self, changed: Mapping[str, Number]) -> Iterator[dict[str, Number]]:
        sample = dict(self._own)
        for name, number in changed.items():
            if number < 2 and not _is_int(name):
                return
            sample |= dict.fromkeys(self._equal.get(name, (name,)), number)
        yield sample


_MAX_SAMPLES = 5_000


def _is_int(name: str) -> bool:
    """Whether it can be less than 2, as no symbol of a size can."""
    pair = declarable(name)
    return pair is not None and pair.dim is None


def _neighbours(numbers: Iterable[Number]) -> list[int]:
    return sorted({int(number) + by for number in numbers for by in (-1, 0, 1)})


def _combined(ones: Iterable[Number], others: Collection[Number]) -> set[Number]:
    """Sums, differences, products and quotients."""
    return {
        number
        for one in ones
        for other in others
        for number in (one + other, one - other, one * other, one // other if other else one)
    }


def _equal_names(guards: Sequence[Relation]) -> dict[str, frozenset[str]]:
    """Names that bare equalities among the guards make one, by each of them."""
    groups: dict[str, frozenset[str]] = {}
    for guard in guards:
        if pair := guard.equal_names():
            joined = frozenset(pair).union(*(groups.get(name, ()) for name in pair))
            groups.update(dict.fromkeys(joined, joined))
    return groups
