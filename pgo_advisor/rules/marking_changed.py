"""A tensor is marked in some calls only."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources

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
    summary=lambda group, seen: (
        f"{sources(seen)} is marked dynamic in a later call, and was not in the first"
    ),
    fix=("Mark it before the first call: then calls without the mark use the same graph."),
)
