"""The memory layout of a tensor changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources

RULE = Rule(
    id="stride",
    title="The memory layout of a tensor changes",
    causes=(CauseKind.tensor_stride,),
    reason=(
        "Strides are guarded: transposed, channels_last and sliced tensors are other inputs than contiguous ones, "
        "though their sizes are the same."
    ),
    example="f(x); f(x.t().contiguous().t()); f(y[:, ::2])",
    remedy=".contiguous() before the call.",
    unless="The copy costs more than a second graph, and there are only two layouts.",
    summary=lambda group, seen: f"{sources(seen)} changes its memory layout",
    fix=(
        "Call .contiguous() (or .to(memory_format=…)) on it before the call, so that all calls have one layout."
    ),
)
