"""A graph was dropped, or made for another backend."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="lost-graph",
    title="A graph was dropped, or belongs to another backend",
    causes=(CauseKind.backend_changed, CauseKind.entry_deleted),
    reason=(
        "torch.compile of the same function with another backend or other options does not share graphs; and a "
        "graph goes when a module or object that it is bound to is deleted."
    ),
    example="for x in data:\n    torch.compile(f, backend=make_backend())(x)",
    remedy="Compile once, outside the loop, with one backend object.",
    unless="Never: there is no gain in it.",
    summary=lambda group, seen: (
        f"graphs of {group.name} could not be used again: another backend, or an object that is gone"
    ),
    fix=(
        "Call torch.compile once and keep its result; keep the objects alive that the compiled code uses."
    ),
)
