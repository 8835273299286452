"""The memory layout of a tensor changes."""

from collections.abc import Iterator

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding
from pgo_advisor.rules.base import Group, Rule, finding, sources


def _find(group: Group) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        group.with_cause(CauseKind.tensor_stride),
        lambda seen: f"{sources(seen)} changes its memory layout",
        "Call .contiguous() (or .to(memory_format=…)) on it before the call, so that all calls have one layout.",
    )


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
    find=_find,
)
