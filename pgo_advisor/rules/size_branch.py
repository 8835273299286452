"""Code that decides by a size."""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding, sources
from pgo_advisor.rules.code_object import CodeObject

_CAUSES = (CauseKind.symbolic_range, CauseKind.divisibility, CauseKind.symbolic_relation)


def _find(group: CodeObject) -> Iterator[Finding]:
    causes = list(group.with_cause(*_CAUSES))
    lines = dict.fromkeys(
        f"{cause.user_location or 'in the code'}: {cause.user_code}"
        for _, cause in causes
        if cause.user_code
    )
    return finding(
        RULE.id,
        group,
        causes,
        lambda seen: f"The code decides by the size of {sources(seen)}: one graph for each outcome",
        "As many graphs as outcomes are right. To have fewer, take the branch out of the compiled function, or "
        "pad so that all calls take the same one.",
        evidence=lines,
    )


RULE = Rule(
    id="size-branch",
    title="The code, or PyTorch, decides by a size",
    causes=_CAUSES,
    reason=(
        "A branch, an assert, a view that needs divisibility, or an operator that handles small and large sizes "
        "differently makes a guard on the symbol. Each side that is taken is a graph of its own, also when the dim "
        "is declared dynamic. mark_dynamic raises if such a guard narrows the range: maybe_mark_dynamic does not."
    ),
    example="def f(x):\n    if x.shape[0] > 16:\n        return x + 1\n    return x * 2",
    remedy="Accept one graph for each outcome, or move the decision out of the compiled function, or pad.",
    unless="Unbacked sizes are no way out: the branch becomes a graph break, and so more graphs.",
    find=_find,
)
