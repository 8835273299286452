"""How a planned input can be declared in the code: by which mark, or by the list alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgo_advisor.dynamo.sources import SourceDim, parse, python_expression
from pgo_advisor.replay.frames import Call, pair_of
from pgo_advisor.report import Remedy
from pgo_advisor.rules.code_object import CodeObject


@dataclass(frozen=True)
class Marking:
    """The remedy for one pair, why it is this one, and the statement; `code` is None for the list only.

    `condition` says why the statement cannot stand before every call.
    """

    remedy: Remedy
    why: str
    code: str | None
    condition: str | None
    together: tuple[SourceDim, ...]


def markings(group: CodeObject) -> dict[SourceDim, Marking]:
    """How each planned pair of the group is declared; members of an equality all in the same way."""
    partners, constraints = _equal_partners(group), _constraints(group.calls)
    found: dict[SourceDim, Marking] = {}
    weakened: dict[SourceDim, str] = {}
    for pair in group.planned:
        reason = _list_only(group, pair)
        if reason is None:
            why = _weak(group, pair, constraints)
            if why:
                weakened[pair] = why
            remedy = Remedy.maybe_mark_dynamic if why else Remedy.mark_dynamic
            found[pair] = Marking(
                remedy,
                why or "every recorded compile that had it as a symbol left it free",
                *_statement(group, pair, remedy),
                tuple(partners[pair]),
            )
        else:
            found[pair] = Marking(Remedy.dynamic_sources, reason, None, None, tuple(partners[pair]))
    return {pair: _with_partners(pair, marking, found) for pair, marking in found.items()}


def _with_partners(pair: SourceDim, marking: Marking, found: dict[SourceDim, Marking]) -> Marking:
    """mark_dynamic on one member of an equality kills the program unless it is on all of them."""
    if marking.remedy is Remedy.mark_dynamic and marking.code:
        for partner in marking.together:
            if partner not in found or found[partner].remedy is not Remedy.mark_dynamic:
                code = marking.code.replace(
                    "_dynamo.mark_dynamic(", "_dynamo.maybe_mark_dynamic(", 1
                )
                why = f"it has to equal {partner.source}, which cannot have mark_dynamic"
                return replace(marking, remedy=Remedy.maybe_mark_dynamic, why=why, code=code)
    return marking


def _list_only(group: CodeObject, pair: SourceDim) -> str | None:
    """Why the pair cannot be marked from outside; None if it can."""
    if pair.dim is None:
        return "marks are for tensors, this is an int"
    if group.is_parameter(pair):
        return "marks on parameters and buffers do nothing"
    if any(frame.called_from_compiled for frame in group.frames):
        return "it is called from compiled code, where a mark cannot be traced"
    if pair.source.endswith("._base"):
        return "it is the base of a view, which is no argument of its own"
    source = parse(pair.source)
    if source.local_name is None:
        return "it is no argument of the compiled function"
    if source.local_name == "self":
        return "it belongs to the module, not to the call"
    if python_expression(source) is None:
        return "no expression outside of the compiled code names it"
    return None


def _statement(group: CodeObject, pair: SourceDim, remedy: Remedy) -> tuple[str, str | None]:
    """The mark, and what keeps it from standing before every call, if anything does."""
    source = parse(pair.source)
    expression = python_expression(source)
    mark = f"torch._dynamo.{remedy.value}({expression}, {pair.dim})"
    calls = [call for call in group.calls if call.read and not call.partial]
    kinds = {
        call.structure.get((guard, pair.source)) for call in calls for guard in ("NONE", "VALUE")
    }
    if kinds & {"int", "float"}:
        test, why = f"isinstance({expression}, torch.Tensor)", "at times it is a number"
    elif "None" in kinds:
        test, why = f"{expression} is not None", "at times it is None"
    elif source.steps and any(pair.source not in call.read for call in calls):
        return mark, "not every call read it, so it may not be there"
    else:
        return mark, None
    return (mark, why) if source.steps else (f"if {test}: {mark}", None)


def _weak(group: CodeObject, pair: SourceDim, constraints: Mapping[SourceDim, str]) -> str | None:
    """Why mark_dynamic could raise where maybe_mark_dynamic does not; None if it does not."""
    values = group.varying[pair]
    if 0 in values or 1 in values:
        return "sizes 0 and 1 become no symbol, which mark_dynamic insists on"
    if any(call.partial for call in group.calls):
        return "console text does not show what it has to equal, so mark_dynamic could raise"
    compiles = [call for call in group.calls if pair in call.symbolic]
    if not compiles:
        return "no recorded compile had it as a symbol, so the code may constrain it"
    if any(pair in call.pinned for call in compiles):
        return "a recorded compile pinned it"
    if pair in constraints:
        return f"a guard constrains it: {constraints[pair]}"
    return None


def _constraints(calls: Iterable[Call]) -> dict[SourceDim, str]:
    """The first guard on each symbolic pair that asks more than a lower bound or an equality of inputs."""
    found: dict[SourceDim, str] = {}
    for call in calls:
        for relation, duck in call.installed:
            if duck or relation.is_lower_bound() or relation.is_about_strides():
                continue
            pairs = {pair_of(name) for name in relation.names}
            if relation.equal_names() is None or None in pairs:
                for pair in pairs:
                    if pair is not None and pair in call.symbolic:
                        found.setdefault(pair, relation.text)
    return found


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
    for call in group.calls:
        for relation, duck in call.installed:
            if not duck and (names := relation.equal_names()):
                left, right = _pairs(names)
                if left and right:
                    yield left, right


def _pairs(names: Iterable[str]) -> Sequence[SourceDim | None]:
    return [pair_of(name) for name in names]


def decided_by(calls: Iterable[Call]) -> set[SourceDim]:
    """Pairs by whose size a recorded compile decided something, be it only that it equals another."""
    return {
        pair
        for call in calls
        for relation in (*call.decisions, *(relation for relation, _ in call.installed))
        if not relation.is_lower_bound() and not relation.is_about_strides()
        for name in relation.names
        if (pair := pair_of(call.symbols.get(name, name))) is not None
    }
