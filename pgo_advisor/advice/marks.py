"""How a planned input can be declared in the code: by which mark, or by the list alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgo_advisor.advice.words import Condition, Said, WhyRemedy
from pgo_advisor.dynamo.shape_guards import Relation
from pgo_advisor.dynamo.sources import SourceDim, declarable, parse, python_expression
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.report import Remedy
from pgo_advisor.rules.code_object import CodeObject

_TESTS = {Condition.number: "isinstance({}, torch.Tensor)", Condition.none: "{} is not None"}


@dataclass(frozen=True)
class Marking:
    """The remedy for one pair, why it is this one, and the statement; `code` is None for the list only.

    `condition` says why the statement cannot stand before every call.
    """

    remedy: Remedy
    why: Said
    code: str | None
    condition: Condition | None
    together: tuple[SourceDim, ...]


def markings(group: CodeObject) -> dict[SourceDim, Marking]:
    """How each planned pair of the group is declared; members of an equality all in the same way."""
    partners, constraints = _equal_partners(group), _constraints(group.compiles)
    alone = {pair: _remedy(group, pair, constraints) for pair in group.planned}
    found = {}
    for pair in group.planned:
        remedy, why = _with_partners(pair, partners[pair], alone)
        found[pair] = Marking(remedy, why, *_statement(group, pair, remedy), tuple(partners[pair]))
    return found


def _remedy(
    group: CodeObject, pair: SourceDim, constraints: Mapping[SourceDim, str]
) -> tuple[Remedy, Said]:
    if why := _list_only(group, pair):
        return Remedy.dynamic_sources, why()
    if weak := _weak(group, pair, constraints):
        return Remedy.maybe_mark_dynamic, weak
    return Remedy.mark_dynamic, WhyRemedy.free()


def _with_partners(
    pair: SourceDim, partners: Iterable[SourceDim], alone: Mapping[SourceDim, tuple[Remedy, Said]]
) -> tuple[Remedy, Said]:
    """mark_dynamic on one member of an equality kills the program unless it is on all of them."""
    remedy, why = alone[pair]
    if remedy is Remedy.mark_dynamic:
        for partner in partners:
            if partner not in alone or alone[partner][0] is not Remedy.mark_dynamic:
                return Remedy.maybe_mark_dynamic, WhyRemedy.partner(source=partner.source)
    return remedy, why


def _list_only(group: CodeObject, pair: SourceDim) -> WhyRemedy | None:
    """Why the pair cannot be marked from outside; None if it can."""
    if pair.dim is None:
        return WhyRemedy.is_int
    if group.is_parameter(pair):
        return WhyRemedy.is_parameter
    if any(frame.called_from_compiled for frame in group.frames):
        return WhyRemedy.called_from_compiled
    if pair.is_base:
        return WhyRemedy.is_base
    source = parse(pair.source)
    if source.local_name is None:
        return WhyRemedy.no_argument
    if source.local_name == "self":
        return WhyRemedy.of_module
    return None if python_expression(source) is not None else WhyRemedy.no_expression


def _weak(group: CodeObject, pair: SourceDim, constraints: Mapping[SourceDim, str]) -> Said | None:
    """Why mark_dynamic could raise where maybe_mark_dynamic does not; None if it does not."""
    if {0, 1}.intersection(group.varying[pair]):
        return WhyRemedy.small_size()
    if any(call.partial for call in group.compiles):
        return WhyRemedy.partial()
    compiles = [call for call in group.compiles if pair in call.symbolic]
    if not compiles:
        return WhyRemedy.never_symbol()
    if any(pair in call.specialized for call in compiles):
        return WhyRemedy.pinned()
    return WhyRemedy.constrained(guard=constraints[pair]) if pair in constraints else None


def _statement(
    group: CodeObject, pair: SourceDim, remedy: Remedy
) -> tuple[str | None, Condition | None]:
    """The mark, and what keeps it from standing before every call, if anything does."""
    if remedy is Remedy.dynamic_sources:
        return None, None
    source = parse(pair.source)
    expression = python_expression(source)
    mark = f"torch._dynamo.{remedy.value}({expression}, {pair.dim})"
    condition = _condition(group, pair, nested=bool(source.steps))
    if condition is None or source.steps:
        return mark, condition
    return f"if {_TESTS[condition].format(expression)}: {mark}", None


def _condition(group: CodeObject, pair: SourceDim, *, nested: bool) -> Condition | None:
    compiles = [call for call in group.compiles if call.read and not call.partial]
    guards = ("NONE", pair.source), ("VALUE", pair.source)
    kinds = {call.structure.get(guard) for call in compiles for guard in guards}
    if kinds & {"int", "float"}:
        return Condition.number
    if "None" in kinds:
        return Condition.none
    return Condition.absent if nested and not _read_by_all(pair, compiles) else None


def _read_by_all(pair: SourceDim, compiles: Iterable[Compile]) -> bool:
    return all(pair.source in call.read for call in compiles)


def _constraints(compiles: Iterable[Compile]) -> dict[SourceDim, str]:
    """The first guard on each symbolic pair that asks more than a lower bound or an equality of inputs."""
    found: dict[SourceDim, str] = {}
    for call, relation in _narrowing(compiles):
        pairs = {declarable(name) for name in relation.names}
        if relation.equal_names() is None or None in pairs:
            for pair in pairs:
                if pair is not None and pair in call.symbolic:
                    found.setdefault(pair, relation.text)
    return found


def _narrowing(compiles: Iterable[Compile]) -> Iterator[tuple[Compile, Relation]]:
    for call in compiles:
        for relation, duck in call.installed:
            if not duck and not relation.is_lower_bound() and not relation.is_about_strides():
                yield call, relation


def _equal_partners(group: CodeObject) -> dict[SourceDim, list[SourceDim]]:
    """Pairs that guards of the recorded graphs require to be equal, directly or through others."""
    linked: dict[SourceDim, set[SourceDim]] = defaultdict(set)
    for left, right in _equalities(group):
        linked[left].add(right)
        linked[right].add(left)
    partners: dict[SourceDim, list[SourceDim]] = defaultdict(list)
    for start in group.planned:
        reached, todo = {start}, [start]
        while todo:
            for pair in linked[todo.pop()] - reached:
                reached.add(pair)
                todo.append(pair)
        partners[start] = sorted(reached - {start}, key=str)
    return partners


def _equalities(group: CodeObject) -> Iterator[tuple[SourceDim, SourceDim]]:
    for call in group.compiles:
        for relation, duck in call.installed:
            if not duck and (names := relation.equal_names()):
                left, right = _pairs(names)
                if left and right:
                    yield left, right


def _pairs(names: Iterable[str]) -> Sequence[SourceDim | None]:
    return [declarable(name) for name in names]
