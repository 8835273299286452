"""A reason that is not understood."""

from collections.abc import Iterator

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding
from pgo_advisor.rules.base import Group, Rule, finding


def _find(group: Group) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        group.with_cause(CauseKind.unknown),
        lambda seen: "The cause of recompiles is not known",
        "PyTorch's reason, if it gave one, is quoted. Please report it, so that it is known.",
    )


RULE = Rule(
    id="unknown-cause",
    title="The cause is not known",
    causes=(CauseKind.unknown,),
    reason="PyTorch gave no reason, or one that no release from 2.6 to 2.15 is known to write.",
    example="",
    remedy="Look at the verbatim reason.",
    unless="",
    find=_find,
)
