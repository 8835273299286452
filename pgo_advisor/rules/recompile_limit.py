"""The recompile limit was hit."""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    limits = ", ".join(map(str, group.recompile_limits))
    limit = f" ({limits})" if limits else ""
    return finding(
        RULE.id,
        group,
        (
            (recompile, cause)
            for recompile in group.recompiles
            for cause in recompile.causes
            if cause.kind is CauseKind.recompile_limit
        ),
        lambda seen: (
            f"{group.name} hit the recompile limit{limit}: it runs eagerly from then on, uncompiled"
        ),
        "Cure the recompiles first, as advised. If that many graphs are right, raise "
        "torch._dynamo.config.recompile_limit; how many are needed in all, the trace does not show. What varied after the "
        "limit was hit no record shows either: record again with the advice.",
    )


RULE = Rule(
    id="recompile-limit",
    title="The recompile limit was hit",
    causes=(CauseKind.recompile_limit,),
    reason=(
        "After recompile_limit graphs for one code object (8 unless set) PyTorch gives up: calls that no graph takes "
        "run eagerly, with a warning only. Nothing is recorded after that."
    ),
    example="torch._dynamo hit config.recompile_limit (8)",
    remedy=(
        "Cure the cause. Where the graphs are right, raise torch._dynamo.config.recompile_limit (cache_size_limit "
        "before 2.6). Since 2.12 overrides of the configuration are seen by the thread that made them only: "
        "backward and worker threads do not see them."
    ),
    unless="Raising the limit without knowing the cause only delays it, and costs a compile for each value.",
    find=_find,
)
