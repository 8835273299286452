"""A dim that varies and that the compiled code turns into a constant."""

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
            for recompile, cause in group.with_cause(CauseKind.tensor_size, CauseKind.int_value)
            if (cause.source, cause.dim) in group.pinned
        ),
        lambda seen: f"The code turns {sources(seen)} into a constant, whatever is declared",
        "Look at the line that pins it: a size that has to equal a parameter's, range(n), an index into a list, "
        "int(n), an operator without dynamic shapes. Change it, or pad to few sizes.",
    )


RULE = Rule(
    id="pinned-dim",
    title="A varying size is pinned by the compiled code",
    causes=(CauseKind.tensor_size, CauseKind.int_value),
    reason=(
        "While tracing, the symbol of this size was set to a constant: something in the code allows only one "
        "value for each graph. No declaration helps; mark_dynamic raises ConstraintViolationError."
    ),
    example="def f(x):                    # x is (n, 16), then (n, 32)\n    return x + self.bias     # bias has 16 elements",
    remedy="The user's line in the evidence says where. Change it, or bring the size to few values.",
    unless="The pin is right and the sizes are few: raise the recompile limit to their number.",
    find=_find,
)
