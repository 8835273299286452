"""A tensor is marked in some calls only."""

from collections.abc import Iterator

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding
from pgo_advisor.rules.base import Group, Rule, finding, sources


def _find(group: Group) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        group.with_cause(CauseKind.marking_changed),
        lambda seen: f"{sources(seen)} is marked dynamic in a later call, and was not in the first",
        "Mark it before the first call: then calls without the mark use the same graph.",
    )


RULE = Rule(
    id="marking-changed",
    title="A tensor is marked dynamic in later calls only",
    causes=(CauseKind.marking_changed,),
    reason=(
        "A graph of an unmarked tensor does not take a marked one. Marks are lost through any eager operation, so "
        "x.to(device) after mark_dynamic leaves an unmarked tensor."
    ),
    example="f(x); torch._dynamo.mark_dynamic(y, 0); f(y)",
    remedy="Mark the tensor that is passed, right before the first call.",
    unless="Never: a mark costs nothing at run time.",
    find=_find,
)
