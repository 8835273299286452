"""Why each recompile happened: PyTorch's reasons and the real inputs, both.

A reason names only the first guard that failed, against each earlier graph. What else differs from a
graph the recorded inputs show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.compiles import SIZE_CAUSES, Compile, GuardFailure, stays_constant
from pgo_advisor.replay.differences import differences
from pgo_advisor.replay.observations import Observations
from pgo_advisor.report import Cause

_SYMBOLIC = {
    CauseKind.symbolic_range,
    CauseKind.symbolic_relation,
    CauseKind.divisibility,
    CauseKind.equal_dims,
    CauseKind.tensor_size,
    CauseKind.tensor_stride,
}


def causes_of(observed: Observations, position: int) -> tuple[Cause, ...]:
    """The causes of the frame's compile at `position` (> 0), the main one first, never empty.

    The main cause is what keeps the call from the graph that is nearest to it. What else differs from that
    graph follows, then PyTorch's first reason, if it is another.
    """
    call = observed.frame.compiles[position]
    earlier = observed.frame.compiles[:position]
    graph, causes = _nearest(observed, call, earlier)
    if call.refusals:
        first = call.refusals[0]
        reason = _reason(first, next((e for e in earlier if e.key == first.against), None), call)
        if reason.source is None or SourceDim(reason.source, reason.dim) not in graph.free:
            causes = [*causes, reason]
    if call.outcome == "limit":
        causes = [Cause(CauseKind.recompile_limit), *causes]
    told: dict[object, Cause] = {}
    for cause in causes:
        if not _follows(cause, causes):
            told.setdefault((cause.kind, cause.source, cause.dim), cause)
    # console text has the reasons of recompiles only if it was asked for them
    nothing = CauseKind.not_in_text if call.partial else CauseKind.unknown
    return tuple(told.values()) or (Cause(nothing),)


class _Rank(NamedTuple):
    """How near a graph is, the nearest first: one that differs in sizes only, and of these the most general.

    Graphs of another backend can fail by a size first, so the one that tells of it comes before all.
    """

    same_backend: bool
    structural: bool
    constants: int
    age: int


def _nearest(
    observed: Observations, call: Compile, earlier: Iterable[Compile]
) -> tuple[Compile, list[Cause]]:
    """The compile whose graph is nearest to the call, with what keeps the call from it."""
    reasons = {refusal.against: refusal for refusal in reversed(call.refusals)}
    found: list[tuple[_Rank, Compile, list[Cause]]] = []
    for age, graph in enumerate(reversed([*earlier])):
        refusal = reasons.get(graph.key)
        causes = [] if refusal is None else [_reason(refusal, graph, call)]
        causes += differences(observed, graph, call)
        kinds = {cause.kind for cause in causes}
        rank = _Rank(
            CauseKind.backend_changed not in kinds, bool(kinds - SIZE_CAUSES), -len(graph.free), age
        )
        found.append((rank, graph, causes))
    _, graph, causes = min(found, key=lambda each: each[0])
    return graph, causes


def _reason(refusal: GuardFailure, graph: Compile | None, call: Compile) -> Cause:
    pair = refusal.pair
    seen = Cause(
        refusal.cause,
        pair and pair.source,
        pair and pair.dim,
        refusal.expected,
        refusal.actual or _number_met(refusal, call),
        refusal.text,
        refusal.user_code,
        refusal.user_location,
    )
    if graph is not None and refusal.cause in _SYMBOLIC:
        # a stride or a relation can fail since a size became 0 or 1
        for small in _zero_ones(graph, call):
            if _may_be(small, refusal):
                return replace(
                    seen,
                    kind=CauseKind.zero_one,
                    source=small.source,
                    dim=small.dim,
                    expected=str(graph.value(small)),
                    actual=str(call.value(small)),
                )
    return seen


def _number_met(refusal: GuardFailure, call: Compile) -> str | None:
    """An int or a float as the call had it: the guard on its value tells only the graph's."""
    if refusal.cause not in (CauseKind.int_value, CauseKind.float_value):
        return None
    scalar = refusal.pair and call.scalars.get(refusal.pair.source)
    return scalar.value if scalar and not scalar.value.startswith("not ") else None


def _may_be(small: SourceDim, refusal: GuardFailure) -> bool:
    """Whether a guard can have failed for this size of 0 or 1: one that names another dim's size did not."""
    if refusal.pair is None or refusal.pair == small:
        return True
    return small.source == refusal.pair.source and refusal.cause is not CauseKind.tensor_size


def _zero_ones(graph: Compile, call: Compile) -> Iterator[SourceDim]:
    for pair in sorted(graph.free, key=str):
        if stays_constant(pair, call.value(pair)) and not stays_constant(pair, graph.value(pair)):
            yield pair


_FOLLOWS_HERE = {
    CauseKind.tensor_size: {CauseKind.tensor_rank},
    CauseKind.tensor_stride: {CauseKind.tensor_stride},
    CauseKind.tensor_dispatch_keys: {CauseKind.tensor_device},
}
"""What differs only since something else of the same input does,"""
_FOLLOWS = {CauseKind.tensor_dispatch_keys: {CauseKind.global_state, CauseKind.grad_mode}}
"""or something else at all,"""
_FOLLOWS_REASON = {CauseKind.tensor_dispatch_keys: {CauseKind.tensor_dispatch_keys}}
"""or that is told already, in a reason of PyTorch's."""


def _follows(cause: Cause, causes: Iterable[Cause]) -> bool:
    """Whether a cause is only the consequence of another one, or says the same less precisely."""
    others = [other for other in causes if other is not cause]
    here = [other for other in others if other.source == cause.source]
    if cause.kind is CauseKind.object_type:
        return _are_among({CauseKind.tensor_type}, here)
    if cause.kind is CauseKind.aliasing:
        return _are_among({CauseKind.none_value}, _of_either(cause, others))
    if cause.kind is CauseKind.marking_changed and cause.source is None:
        # since 2.13 the reason does not say which tensor it was
        return _are_among({cause.kind}, others)
    return cause.text is None and _says_no_more(cause, others, here)


def _of_either(aliasing: Cause, others: Iterable[Cause]) -> list[Cause]:
    """Causes of one of two tensors that are the same in some calls: one may be None in others."""
    names = (aliasing.source, (aliasing.expected or "").removeprefix("is "))
    return [other for other in others if other.source in names]


def _says_no_more(cause: Cause, others: Sequence[Cause], here: Sequence[Cause]) -> bool:
    if (cause.source or "").startswith("___get_torch_function_mode_stack"):
        return _are_among({CauseKind.global_state}, others)
    reasons = [other for other in others if other.text is not None]
    return (
        _are_among(_FOLLOWS_HERE.get(cause.kind, ()), here)
        or _are_among(_FOLLOWS.get(cause.kind, ()), others)
        or _are_among(_FOLLOWS_REASON.get(cause.kind, ()), reasons)
    )


def _are_among(kinds: Collection[CauseKind], causes: Iterable[Cause]) -> bool:
    return any(cause.kind in kinds for cause in causes)
