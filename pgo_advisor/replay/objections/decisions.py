"""The objection of a decision that comes out otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.graphs import Lookup, Objection
from pgo_advisor.replay.objections.guards import failing_guard, is_about_unbacked


def decision(lookup: Lookup) -> Iterator[Objection]:
    """The code decides by a size, and otherwise for the call than for the graph (`evaluate_expr` in
    torch/fx/experimental/symbolic_shapes.py).

    Only compiles tell whose dims were symbols where they differ from the two calls; and of the two calls'
    decisions the first that fails has to be the same one.
    """
    compiled_for = lookup.graph.compiled_for
    for other in lookup.observed.decisions.deciding:
        if other is compiled_for or not _tells_of(other, lookup):
            continue
        first, second = (
            _first_failing(other, compiled_for, lookup),
            _first_failing(other, lookup.call, lookup),
        )
        if first != second:
            places = [place for place in (first, second) if place is not None and place >= 0]
            taken = lookup.observed.decisions.of(other)
            text = taken[min(places)].named(other.symbols) if places else None
            yield Objection("decision", guard=text)


def _tells_of(other: Compile, lookup: Lookup) -> bool:
    compiles = (lookup.graph.compiled_for, lookup.call, other)
    return all(
        pair in other.symbolic
        or len({value for call in compiles if (value := call.value(pair)) is not None}) <= 1
        for pair in lookup.observed.varying
    )


_THE_GRAPH = -1
"""Stands for a guard that none of the decisions is."""


def _first_failing(other: Compile, call: Compile, lookup: Lookup) -> int | None:
    """Which of `other`'s decisions fails first for `call`; None if its graph takes the call."""
    key = (other.key, call.key)
    if key not in lookup.failing:
        lookup.failing[key] = _find_failing(other, call, lookup)
    return lookup.failing[key]


def _find_failing(other: Compile, call: Compile, lookup: Lookup) -> int | None:
    if failing_guard(other, call, lookup.declaration) is None:
        return None
    for place, relation in enumerate(lookup.observed.decisions.of(other)):
        if is_about_unbacked(relation, lookup.declaration, other.symbols):
            continue
        values = {name: call.number(other.symbols.get(name, name)) for name in relation.names}
        known = {name: value for name, value in values.items() if value is not None}
        if relation.holds(known) is False:
            return place
    return _THE_GRAPH
