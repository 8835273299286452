"""Sizes 0 and 1, which PyTorch always specializes."""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding, sources
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        (
            (recompile, cause)
            for recompile, cause in group.with_cause(CauseKind.zero_one, CauseKind.tensor_size)
            if cause.kind is CauseKind.zero_one or {"0", "1"} & {cause.expected, cause.actual}
        ),
        lambda seen: (
            f"{sources(seen)} has size 0 or 1 in some calls, which always has a graph of its own"
        ),
        "Nothing, if one more graph is bearable. Else avoid the size (drop_last, pad to 2), or declare the dim "
        "unbacked: mark_unbacked, or TORCH_COMPILE_UNBACKED_SOURCES (2.8) instead of the other list.",
    )


RULE = Rule(
    id="zero-one",
    title="A size is 0 or 1 in some calls",
    causes=(CauseKind.zero_one, CauseKind.tensor_size),
    reason=(
        "Sizes 0 and 1 are specialized even for dynamic dims, since broadcasting depends on them: one graph more "
        "for each. If the first call has size 1, as a warm-up often has, the graph that it makes is of no further use."
    ),
    example="for x in (batch_of_8, batch_of_5, batch_of_1):\n    model(x)",
    remedy=(
        "Warm up with sizes of at least 2. mark_unbacked(x, 0) or TORCH_COMPILE_UNBACKED_SOURCES makes one graph "
        "for all sizes, 0 and 1 included."
    ),
    unless=(
        "Unbacked sizes raise data-dependent errors, or break the graph, where code branches on the size (pytorch "
        "174704)."
    ),
    find=_find,
)
