"""Why each recompile happened: PyTorch's reasons and the real inputs, both.

A reason names only the first guard that failed, against each earlier graph. What else differs from a
graph the recorded inputs show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.guard_tree import parts_of
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.frames import Call, Frame
from pgo_advisor.replay.guarding import SIZE_CAUSES
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
}
_TENSOR_PARTS = (
    CauseKind.tensor_type,
    CauseKind.tensor_dispatch_keys,
    CauseKind.tensor_dtype,
    CauseKind.tensor_device,
    CauseKind.tensor_requires_grad,
)
_SYMBOLIC = {
    CauseKind.symbolic_range,
    CauseKind.symbolic_relation,
    CauseKind.divisibility,
    CauseKind.equal_dims,
    CauseKind.tensor_size,
    CauseKind.tensor_stride,
}


def causes_of(frame: Frame, position: int, failures: list[Mapping[str, Any]]) -> tuple[Cause, ...]:
    """The causes of the frame's compile at `position` (> 0), the main one first, never empty.

    `failures` are its rows of the table guard_failures. The main cause is what keeps the call from the graph
    that is nearest to it: one that differs in sizes only, and of these the most general one. What else
    differs from that graph follows, then PyTorch's first reason, if it is another.
    """
    call = frame.calls[position]
    earlier = frame.calls[:position]
    reasons = {row["against"]: row for row in reversed(failures)}
    seen: list[Cause] = []
    if call.outcome == "limit":
        seen.append(Cause(CauseKind.recompile_limit))
    candidates = []
    for age, graph in enumerate(reversed(earlier)):
        row = reasons.get(graph.compile)
        causes = [] if row is None else [_reason(row, graph, call)]
        causes += _differences(graph, call)
        structural = any(cause.kind not in SIZE_CAUSES for cause in causes)
        # graphs of another backend can fail by a size first, so the one that tells of it comes first
        backend = any(cause.kind is CauseKind.backend_changed for cause in causes)
        general = len(graph.symbolic - graph.pinned)
        candidates.append((not backend, structural, -general, age, graph, causes))
    *_, nearest, causes = min(candidates, key=lambda candidate: candidate[:4])
    if failures:
        first = next((graph for graph in earlier if graph.compile == failures[0]["against"]), None)
        reason = _reason(failures[0], first, call)
        free = nearest.symbolic - nearest.pinned
        if reason.source is None or SourceDim(reason.source, reason.dim) not in free:
            causes.append(reason)
    for cause in causes:
        known = {(other.kind, other.source, other.dim) for other in seen}
        if (cause.kind, cause.source, cause.dim) not in known and not _follows(cause, causes):
            seen.append(cause)
    return tuple(seen) or (Cause(CauseKind.unknown),)


def _follows(cause: Cause, causes: Iterable[Cause]) -> bool:
    """Whether a cause is only the consequence of another one, or says the same less precisely."""
    others = [other for other in causes if other is not cause]
    here = {other.kind for other in others if other.source == cause.source}
    if cause.kind is CauseKind.object_type:
        return CauseKind.tensor_type in here
    if cause.kind is CauseKind.marking_changed and cause.source is None:
        # since 2.13 the reason does not say which tensor it was
        return any(other.kind is CauseKind.marking_changed for other in others)
    if cause.text is not None:
        return False
    if (cause.source or "").startswith("___get_torch_function_mode_stack"):
        return any(other.kind is CauseKind.global_state for other in others)
    if cause.kind is CauseKind.tensor_size:
        return CauseKind.tensor_rank in here
    if cause.kind is CauseKind.tensor_stride:
        return CauseKind.tensor_stride in here
    if cause.kind is CauseKind.tensor_dispatch_keys:
        return CauseKind.tensor_device in here or any(
            other.kind in (CauseKind.global_state, CauseKind.grad_mode)
            or (other.kind is CauseKind.tensor_dispatch_keys and other.text is not None)
            for other in others
        )
    return False


def _reason(row: Mapping[str, Any], graph: Call | None, call: Call) -> Cause:
    kind = CauseKind(row["cause"])
    pair = None if row["source"] is None else SourceDim(row["source"], row["dim"])
    if kind in _SYMBOLIC and graph is not None:
        # a stride or a relation can fail since a size became 0 or 1
        for zero_one in _zero_ones(graph, call):
            if pair is None or zero_one.source == pair.source:
                kind, pair = CauseKind.zero_one, zero_one
                break
    return Cause(
        kind,
        pair and pair.source,
        pair and pair.dim,
        row["expected"],
        row["actual"],
        row["text"],
        row["user_code"],
        row["user_location"],
    )


def _zero_ones(graph: Call, call: Call) -> Iterator[SourceDim]:
    for pair in sorted(graph.symbolic - graph.pinned, key=str):
        if pair.dim is not None and call.value(pair) in (0, 1) and graph.value(pair) not in (0, 1):
            yield pair


def _differences(graph: Call, call: Call) -> Iterable[Cause]:
    """What differs between a graph's inputs and a call's that the graph does not take."""
    free = graph.symbolic - graph.pinned
    for source, tensor in call.tensors.items():
        before = graph.tensors.get(source)
        if before is None or source.endswith("._base"):
            continue
        if len(before.size) != len(tensor.size):
            yield Cause(
                CauseKind.tensor_rank, source, None, str(len(before.size)), str(len(tensor.size))
            )
            continue
        resized = False
        for dim, (old, new) in enumerate(zip(before.size, tensor.size, strict=True)):
            if old == new or old is None or new is None:
                continue
            resized = True
            if SourceDim(source, dim) not in free:
                yield Cause(CauseKind.tensor_size, source, dim, str(old), str(new))
            elif new in (0, 1):
                yield Cause(CauseKind.zero_one, source, dim, str(old), str(new))
        if not resized and before.stride != tensor.stride:
            yield Cause(
                CauseKind.tensor_stride, source, None, str(before.stride), str(tensor.stride)
            )
    for source, scalar in call.scalars.items():
        old_scalar = graph.scalars.get(source)
        if old_scalar and old_scalar.value != scalar.value and SourceDim(source, None) not in free:
            kind = CauseKind.int_value if scalar.kind == "int" else CauseKind.float_value
            yield Cause(kind, source, None, old_scalar.value, scalar.value)
    for pair in sorted(call.marked - graph.marked, key=str):
        if pair.source in graph.tensors:
            yield Cause(CauseKind.marking_changed, pair.source, pair.dim)
    for (guard, source), value in call.structure.items():
        old_value = graph.structure.get((guard, source), value)
        if old_value != value:
            yield from _structural(guard, source, old_value, value)


def _structural(guard: str, source: str, old: str, new: str) -> Iterator[Cause]:
    if guard == "TENSOR_MATCH":
        parts = zip(_TENSOR_PARTS, parts_of(old), parts_of(new), strict=False)
        changed = [(kind, before, after) for kind, before, after in parts if before != after]
        # dispatch keys follow from the dtype, the device and requires_grad
        others = [part for part in changed if part[0] is not CauseKind.tensor_dispatch_keys]
        for kind, before, after in others or changed:
            yield Cause(kind, source, None, before, after)
    elif guard == "GLOBAL_STATE":
        fields = _changed_fields(old, new)
        kind = CauseKind.grad_mode if fields == ["grad_mode"] else CauseKind.global_state
        yield Cause(kind, None, None, None, ", ".join(fields) or None)
    elif guard == "NONE":
        yield Cause(CauseKind.none_value, source, None, old, new)
    elif guard == "VALUE":
        yield Cause(CauseKind.tensor_type, source, None, old, new)
    elif guard == "ALIAS":
        yield Cause(CauseKind.aliasing, source.partition(" is ")[0], None, None, source)
    elif guard == "EQUALS_MATCH":
        literal = new.rpartition(" == ")[2]
        kind = CauseKind.string_value if literal[:1] in "'\"" else CauseKind.constant_value
        yield Cause(kind, source, None, old.rpartition(" == ")[2], literal)
    elif guard in _BY_GUARD:
        yield Cause(_BY_GUARD[guard], source or None, None, old, new)


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
