"""What differs between a recorded graph and a call, as causes: the objections of its guards, all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.guard_tree import parts_of
from pgo_advisor.dynamo.sources import is_base
from pgo_advisor.replay.compiles import Compile, Tensor
from pgo_advisor.replay.declaration import NOTHING
from pgo_advisor.replay.graphs import Lookup, Objection, recorded_graph
from pgo_advisor.replay.objections.sizes import rank, size
from pgo_advisor.replay.objections.structure import mark, structure
from pgo_advisor.replay.observations import Observations
from pgo_advisor.report import Cause

_BY_GUARD = {
    "ID_MATCH": CauseKind.object_identity,
    "TYPE_MATCH": CauseKind.object_type,
    "NONE_MATCH": CauseKind.none_value,
    "BOOL_MATCH": CauseKind.bool_value,
    "LENGTH_CHECK": CauseKind.container_length,
    "SEQUENCE_LENGTH": CauseKind.container_length,
    "DICT_LENGTH": CauseKind.container_length,
    "DICT_CONTAINS": CauseKind.dict_keys,
    "DICT_KEYS": CauseKind.dict_keys,
    "HASATTR": CauseKind.attribute_presence,
    "DEFAULT_DEVICE": CauseKind.global_state,
    "NONE": CauseKind.none_value,
    "VALUE": CauseKind.tensor_type,
}
_TENSOR_PARTS = (
    CauseKind.tensor_type,
    CauseKind.tensor_dispatch_keys,
    CauseKind.tensor_dtype,
    CauseKind.tensor_device,
    CauseKind.tensor_requires_grad,
)


def differences(observed: Observations, before: Compile, call: Compile) -> Iterator[Cause]:
    """What differs between a graph's inputs and a call's that the graph does not take.

    Input by input, then marks, then other guards.
    """
    lookup = Lookup(recorded_graph(before), call, NOTHING, observed, {})
    if found := [*_ranks_and_sizes(lookup), *_strides(before, call)]:
        place = {source: number for number, source in enumerate((*call.tensors, *call.scalars))}
        yield from sorted(found, key=lambda seen: (place[seen.source or ""], seen.dim or 0))
    for objection in mark(lookup):
        if (pair := objection.pair) is not None and pair.dim is not None:
            yield Cause(CauseKind.marking_changed, pair.source, pair.dim)
    for objection in structure(lookup):
        yield from _structural(objection)


def _ranks_and_sizes(lookup: Lookup) -> Iterator[Cause]:
    ranked = set()
    for objection in rank(lookup):
        ranked.add(objection.pair)
        yield _seen(CauseKind.tensor_rank, objection)
    for objection in size(lookup):
        pair = objection.pair
        if pair is None or is_base(pair.source) or pair._replace(dim=None) in ranked:
            continue
        if pair.dim is None:
            number = lookup.call.scalars[pair.source].kind == "int"
            kind = CauseKind.int_value if number else CauseKind.float_value
        else:
            symbol = pair in lookup.graph.dynamic
            kind = CauseKind.zero_one if symbol else CauseKind.tensor_size
        yield _seen(kind, objection)


def _seen(kind: CauseKind, objection: Objection) -> Cause:
    source, dim = objection.pair or (None, None)
    return Cause(kind, source, dim, str(objection.expected), str(objection.actual))


def _strides(before: Compile, call: Compile) -> Iterator[Cause]:
    """Tensors of the same size that lie in memory in another way."""
    for source, tensor in call.tensors.items():
        known = before.tensors.get(source)
        if known is None or is_base(source) or known.stride == tensor.stride:
            continue
        if _are_alike(known, tensor):
            yield Cause(
                CauseKind.tensor_stride, source, None, str(known.stride), str(tensor.stride)
            )


def _are_alike(one: Tensor, other: Tensor) -> bool:
    return len(one.size) == len(other.size) and all(
        old == new or None in (old, new) for old, new in zip(one.size, other.size, strict=True)
    )


def _structural(objection: Objection) -> Iterator[Cause]:
    guard, (source, _) = objection.guard, objection.pair or ("", None)
    old, new = str(objection.expected), str(objection.actual)
    if guard in _BY_GUARD:
        yield Cause(_BY_GUARD[guard], source or None, None, _value(guard, old), _value(guard, new))
    elif guard == "TENSOR_MATCH":
        yield from _tensor_parts(source, old, new)
    elif guard == "GLOBAL_STATE":
        yield _mode(old, new)
    elif guard == "ALIAS":
        yield Cause(CauseKind.aliasing, source.partition(" is ")[0], None, None, source)
    elif guard == "EQUALS_MATCH":
        literal = new.rpartition(" == ")[2]
        kind = CauseKind.string_value if literal[:1] in "'\"" else CauseKind.constant_value
        yield Cause(kind, source, None, old.rpartition(" == ")[2], literal)


_LENGTHS = {"LENGTH_CHECK", "SEQUENCE_LENGTH", "DICT_LENGTH"}
_IDENTITIES = {"ID_MATCH", "TYPE_MATCH"}


def _value(guard: str, text: str) -> str | None:
    """What a guard's expression says of the value: a length, the class of an object, or itself."""
    if guard in _LENGTHS:
        return "0" if text.startswith("not ") else text.rpartition(" == ")[2]
    if guard in _IDENTITIES and text.startswith("___check_"):
        return text.partition(", type=<class '")[2].removesuffix("'>") or None
    return text


def _tensor_parts(source: str, old: str, new: str) -> Iterator[Cause]:
    parts = zip(_TENSOR_PARTS, parts_of(old), parts_of(new), strict=False)
    changed = [(kind, before, after) for kind, before, after in parts if before != after]
    # dispatch keys follow from the dtype, the device and requires_grad
    others = [part for part in changed if part[0] is not CauseKind.tensor_dispatch_keys]
    for kind, before, after in others or changed:
        yield Cause(kind, source, None, before, after)


def _mode(old: str, new: str) -> Cause:
    fields = _changed_fields(old, new)
    kind = CauseKind.grad_mode if fields == ["grad_mode"] else CauseKind.global_state
    return Cause(kind, None, None, None, ", ".join(fields) or None)


def _changed_fields(old: str, new: str) -> list[str]:
    states = []
    for text in (old, new):
        try:
            state = json.loads(text.partition(" against ")[2])
        except ValueError:
            return []
        states.append(state if isinstance(state, dict) else {})
    return sorted(
        name
        for name in states[0].keys() | states[1].keys()
        if states[0].get(name) != states[1].get(name)
    )
