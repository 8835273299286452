"""Which of the decisions that tracing took on sizes ended up as guards of the graph.

While tracing, PyTorch records every decision on symbols (`guard_added_fast`), also some that it never
installs: bounds of storages, trials of the backend. What is installed (`LAMBDA_GUARD`) is simplified
and sorted, so the decisions alone tell the order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pgo_advisor.history import Call
from pgo_advisor.relations import Number, Relation

_SINGLE = (*range(2, 25), 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 256, 511, 512, 513, 1024)
_PAIRED = (2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 32, 64, 100)


def installed_decisions(call: Call) -> list[Relation]:
    """The call's decisions that follow from its graph's installed guards, in the order of tracing.

    That is tried on sizes: a decision that fails where all installed guards hold was never installed.
    """
    guards = [relation for relation, _ in call.installed if not relation.is_about_strides()]
    equal = _equal_names(guards)
    names = {name for relation in guards for name in relation.names}
    own = {name: value for name in names if (value := call.number(name)) is not None}
    return [
        decision
        for decision in call.decisions
        if not any(
            decision.holds(
                {symbol: sample[call.symbols.get(symbol, symbol)] for symbol in decision.names}
            )
            is False
            and all(guard.holds(sample) is not False for guard in guards)
            for sample in _samples(call, decision, own, equal)
        )
    ]


def _samples(
    call: Call,
    decision: Relation,
    own: dict[str, Number],
    equal: dict[str, frozenset[str]],
) -> Iterator[dict[str, Number]]:
    """The call's own sizes with those that the decision is about replaced by others."""
    names = sorted({call.symbols.get(symbol, symbol) for symbol in decision.names})
    base = dict(own)
    for name in names:
        value = call.number(name)
        if value is None:
            return
        base[name] = value
    if len(names) <= 2:
        chosen = [*product(_SINGLE if len(names) == 1 else _PAIRED, repeat=len(names))]
    else:
        chosen = [
            tuple(value if at == place else base[name] for at, name in enumerate(names))
            for place in range(len(names))
            for value in _PAIRED
        ]
    for values in chosen:
        sample = dict(base)
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
