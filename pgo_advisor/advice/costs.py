"""What a declaration may cost: every reason, seen in the trace, why a dynamic kernel may be worse."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.rules.code_object import CodeObject

_MANY = 50


def prices(group: CodeObject, pair: SourceDim) -> Iterator[str]:
    """Sentences on one pair of one code object."""
    values = group.varying[pair]
    settings = frozenset().union(*(frame.settings for frame in group.frames))
    if pair.dim is not None and (small := [size for size in (0, 1) if size in values]):
        yield (
            f"size {' and '.join(map(str, small))} still has a graph of its own (see zero-one for "
            "what avoids that)"
        )
    branches = [
        cause.user_code or cause.text or ""
        for _, cause in group.with_cause(
            CauseKind.symbolic_range, CauseKind.divisibility, CauseKind.symbolic_relation
        )
        if cause.source == pair.source
    ]
    if branches:
        yield f"the code decides by it: a graph for each outcome stays ({branches[0].strip()[:120]})"
    sizes = [value for value in values if isinstance(value, int) and value > 1]
    if pair.dim is not None and len(values) == 2:
        yield (
            f"if {values[0]} and {values[1]} are all its sizes, two static graphs may run faster than a "
            "dynamic one; if one is the last batch, drop_last avoids it"
        )
    if pair.dim is not None and sizes and all(size % 8 == 0 for size in sizes):
        yield (
            "all sizes are multiples of 8, which a dynamic kernel does not know: it can be slower "
            "(padding to the multiple and torch._check(n % 8 == 0) tell it)"
        )
    if "cudagraphs" in settings:
        yield "CUDA graphs are recorded again for each size, with the memory for each"
    if "max_autotune" in settings:
        yield "kernels are tuned for the first size that is seen"
    if any(call.dynamic == "false" for call in group.calls):
        yield "dynamic=False was chosen here: the declaration overrides it"
    if group.is_parameter(pair):
        yield (
            "a weight's shape becomes dynamic, and kernels slower; to keep it static raise "
            "torch._dynamo.config.recompile_limit to the number of shapes"
        )
    if len(group.planned) > _MANY:
        yield f"{len(group.planned)} symbols make each compile slower"
