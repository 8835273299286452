"""The objection of the shape guards that a recorded graph has, evaluated on another call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import Number, Relation
from pgo_advisor.dynamo.sources import declarable
from pgo_advisor.replay.compiles import Compile, ShapeGuard
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.graphs import Lookup, Objection

Values = dict[str, Number]


def guard(lookup: Lookup) -> Iterator[Objection]:
    """A shape guard that the graph was bound to while tracing is false (`produce_guards_verbose` in
    torch/fx/experimental/symbolic_shapes.py).
    """
    if text := failing_guard(lookup.graph.compiled_for, lookup.call, lookup.declaration):
        yield Objection("guard", guard=text)


def failing_guard(recorded: Compile, call: Compile, declaration: Declaration) -> str | None:
    """The shape guard of a compile's recorded graph that does not let the call pass; None if none does.

    Guards on what is declared unbacked are not looked at.

    Of sizes that are equal by duck sizing each that is declared gets a symbol of its own, the others go on
    sharing one. Of which of them another guard on their common symbol speaks is not recorded, so one that it
    fits is enough.
    """
    groups = [group for group in recorded.duck_groups if any(map(declaration.names, group))]
    if unequal := _unequal(groups, call, declaration):
        return unequal
    for each in recorded.installed:
        joined = [group for group in groups if group & each.relation.names]
        if _is_checked_elsewhere(each, declaration, apart=bool(joined)):
            continue
        if _fails(each.relation, recorded, call, declaration, joined):
            return each.relation.text
    return None


def _unequal(
    groups: Iterable[frozenset[str]], call: Compile, declaration: Declaration
) -> str | None:
    """What goes on sharing a symbol, as not all of its group is declared, and is not equal in the call."""
    for group in groups:
        numbers = {call.number(name) for name in group if not declaration.names(name)}
        if len(numbers - {None}) > 1:
            return " == ".join(sorted(group))
    return None


def _fails(
    relation: Relation,
    recorded: Compile,
    call: Compile,
    declaration: Declaration,
    joined: list[frozenset[str]],
) -> bool:
    """Whether the call does not pass, whatever the guard's names and numbers may mean."""
    readings = list(_readings(relation, call, joined))
    if all(relation.holds(reading) is False for reading in readings):
        meanings = _with_sizes(relation, recorded, call, declaration)
        if not any(
            meaning.holds(reading) is not False for meaning in meanings for reading in readings
        ):
            return True
    return len(readings[0]) < len(relation.names) and _refused_by(relation, recorded, call)


def _with_sizes(
    relation: Relation, recorded: Compile, call: Compile, declaration: Declaration
) -> Iterator[Relation]:
    """What a guard may mean for the call where a number in it is a size that is declared.

    In the recorded graph that size was a constant, so its value stands there in its place.
    """
    numbers = relation.numbers
    for pair in recorded.pairs() if numbers else ():
        if pair in declaration and pair not in recorded.symbolic:
            before, now = (call.number(pair.name) for call in (recorded, call))
            if before in numbers and now is not None and now != before:
                yield relation.with_number(before, now)


def _is_checked_elsewhere(each: ShapeGuard, declaration: Declaration, *, apart: bool) -> bool:
    """A guard on what is unbacked; of duck sizing on sizes that are apart now; or on how strides follow from
    sizes, or on an offset of 0 or 1, which the objection `stride` knows better: here static ones stand as
    numbers.
    """
    relation, duck = each
    return (
        (apart and duck)
        or (" == " in relation.text and relation.is_about_strides())
        or (relation.is_about_an_offset() and relation.is_lower_bound())
        or is_about_unbacked(relation, declaration)
    )


def is_about_unbacked(
    relation: Relation, declaration: Declaration, symbols: Mapping[str, str] | None = None
) -> bool:
    """Whether a relation speaks of what is declared unbacked; its names may be symbols."""
    return bool(declaration.unbacked) and any(
        declarable((symbols or {}).get(name, name)) in declaration.unbacked
        for name in relation.names
    )


def _readings(relation: Relation, call: Compile, joined: list[frozenset[str]]) -> Iterator[Values]:
    """The call's values of what a guard names, as far as known; then with another member of a group for those
    that had its symbol.
    """
    values = {name: call.number(name) for name in relation.names}
    yield _known(values)
    for group in joined:
        for member in group:
            yield _known(values | dict.fromkeys(group & relation.names, call.number(member)))


def _known(values: Mapping[str, Number | None]) -> Values:
    return {name: value for name, value in values.items() if value is not None}


def _refused_by(relation: Relation, recorded: Compile, call: Compile) -> bool:
    """Whether PyTorch said that this graph did not take the call since these sizes were not equal.

    That tells of sizes which are not recorded: those of a view's base that were no symbols.
    """
    names = relation.equal_names()
    return names is not None and any(
        refusal.against == recorded.key
        and refusal.cause is CauseKind.equal_dims
        and refusal.pair in map(declarable, names)
        for refusal in call.refusals
    )
