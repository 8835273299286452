"""Grad mode or another global state changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule


def _state(kind: CauseKind, fields: str | None) -> str:
    return (
        "grad mode"
        if kind is CauseKind.grad_mode
        else fields or "a mode that the trace does not name"
    )


RULE = Rule(
    id="global-mode",
    title="Grad mode, autocast or another global state changes between calls",
    causes=(CauseKind.grad_mode, CauseKind.global_state),
    reason=(
        "A graph is bound to the global state under which it was made: grad mode, autocast, default dtype and device, "
        "deterministic algorithms, TF32, number of threads, torch function modes."
    ),
    example="model(x)\nwith torch.no_grad():\n    model(x)                 # a second graph",
    remedy="Do what differs outside of the loop, or accept one graph for each state.",
    unless="Training with grad and validation without: two graphs are right.",
    summary=lambda group, seen: (
        f"{group.name} is called under different global states: "
        + (", ".join(dict.fromkeys(_state(cause.kind, cause.actual) for cause in seen)))
    ),
    fix=(
        "Call it always under the same one, or accept a graph for each: torch.no_grad, autocast, default dtype, "
        "deterministic algorithms and the number of threads all count."
    ),
)
