"""The same tensor is passed twice in some calls."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources

RULE = Rule(
    id="aliasing",
    title="The same tensor is passed twice in some calls only",
    causes=(CauseKind.aliasing,),
    reason="Whether inputs are the same tensor is guarded, since writing to one would change the other.",
    example="f(x, x); f(x, y)",
    remedy="Pass a clone, or the same pattern in every call.",
    unless="Self-attention and cross-attention share one function: two graphs are right.",
    summary=lambda group, seen: (
        f"Inputs are one tensor in some calls and several in others ({sources(seen)})"
    ),
    fix=(
        "Pass a copy (x.clone()) where the same tensor is passed twice, or pass it twice in every call."
    ),
)
