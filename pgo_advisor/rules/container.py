"""A list, tuple or dict changes its length or keys."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources, values

RULE = Rule(
    id="container",
    title="A list, tuple or dict changes its length or its keys",
    causes=(CauseKind.container_length, CauseKind.dict_keys),
    reason="A container is unrolled while tracing: its length and keys are constants of the graph.",
    example="caches.append(new)           # a list that grows with each call\nmodel(x, caches)",
    remedy="Stack its tensors into one with a dynamic dim, or pad to a fixed length.",
    unless="There are few lengths, each used often.",
    summary=lambda group, seen: (
        f"{sources(seen)} changes its length or keys"
        + (f" ({values(seen)})" if values(seen) else "")
    ),
    fix=(
        "The structure of containers is never dynamic: stack the tensors into one, pad the list, or always pass the "
        "same keys."
    ),
)
