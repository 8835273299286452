"""Which of the decisions that tracing took on sizes ended up as guards of the graph.

While tracing, PyTorch records every decision on symbols (`guard_added_fast`), also some that it never
installs: bounds of storages, trials of the backend. What is installed (`LAMBDA_GUARD`) is simplified
and sorted, so the decisions alone tell the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from pgo_advisor.dynamo.shape_guards import Number, Relation, parse_relation
from pgo_advisor.replay.frames import Call

_SINGLE = (*range(2, 25), 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 256, 511, 512, 513, 1024)
_PAIRED = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 32, 64, 100)


def installed_decisions(call: Call) -> list[Relation]:
    """The call's decisions that follow from its graph's installed guards, in the order of tracing.

    That is tried on sizes: a decision that fails where all installed guards hold was never installed.
    """
    guards = [relation for relation, _ in call.installed if not relation.is_about_strides()]
    asked = {
        symbol: call.symbols.get(symbol, symbol)
        for decision in call.decisions
        for symbol in sorted(decision.names)
    }
    names = sorted({name for relation in guards for name in relation.names}.union(asked.values()))
    numbers = tuple((name, call.number(name)) for name in names)
    # the same code with the same sizes is met again on every rank
    kept = _follow(
        tuple(decision.text for decision in call.decisions),
        tuple(guard.text for guard in guards),
        tuple(asked.items()),
        tuple((name, value) for name, value in numbers if value is not None),
    )
    return [call.decisions[place] for place in kept]


@lru_cache(1024)
def _follow(
    decisions: tuple[str, ...],
    guards: tuple[str, ...],
    symbols: tuple[tuple[str, str], ...],
    numbers: tuple[tuple[str, Number], ...],
) -> list[int]:
    """The places of the decisions that follow from the guards; `numbers` are the call's own."""
    installed = [relation for text in guards if (relation := parse_relation(text))]
    equal = _equal_names(installed)
    name_of, own = dict(symbols), dict(numbers)
    return [
        place
        for place, text in enumerate(decisions)
        if (decision := parse_relation(text))
        and not any(
            decision.holds({symbol: sample[name_of[symbol]] for symbol in decision.names}) is False
            and all(guard.holds(sample) is not False for guard in installed)
            for sample in _samples(sorted({name_of[s] for s in decision.names}), own, equal)
        )
    ]


def _samples(
    names: list[str], own: dict[str, Number], equal: dict[str, frozenset[str]]
) -> Iterator[dict[str, Number]]:
    """The call's own sizes with those of the names, which a decision is about, replaced by others."""
    if not all(name in own for name in names):
        return
    if len(names) <= 2:
        chosen = [*product(_SINGLE if len(names) == 1 else _PAIRED, repeat=len(names))]
    else:
        chosen = [
            tuple(value if at == place else own[name] for at, name in enumerate(names))
            for place in range(len(names))
            for value in _PAIRED
        ]
    for values in chosen:
        sample = dict(own)
        for name, value in zip(names, values, strict=True):
            for alike in equal.get(name, frozenset((name,))):
                sample[alike] = value
        yield sample


def _equal_names(guards: list[Relation]) -> dict[str, frozenset[str]]:
    """Names that bare equalities among the guards make one, by each of them."""
    groups: dict[str, frozenset[str]] = {}
    for guard in guards:
        if pair := guard.equal_names():
            joined = frozenset(pair).union(*(groups.get(name, ()) for name in pair))
            groups.update(dict.fromkeys(joined, joined))
    return groups
