"""A float that changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources, values

RULE = Rule(
    id="float-value",
    title="A float changes",
    causes=(CauseKind.float_value,),
    reason=(
        "A float is a constant of the first graph and becomes an input after its first change; the list of dynamic "
        "sources does not spare that recompile. With CUDA graphs it stays a constant: a compile for each value."
    ),
    example="optimizer.step(lr=scheduler.get_last_lr()[0])",
    remedy="Make it a tensor, filled in place: lr = torch.tensor(0.1); lr.fill_(new).",
    unless="It changes once or twice in the whole run: one recompile may be cheaper than the change.",
    summary=lambda group, seen: f"The float {sources(seen)} changes ({values(seen)})",
    fix=("Pass it as a tensor: torch.tensor(lr). A list entry does not spare its recompile."),
)
