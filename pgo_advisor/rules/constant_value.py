"""A string, a flag, None or another constant changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources, values

RULE = Rule(
    id="constant-value",
    title="A flag, a string, None or another constant changes",
    causes=(
        CauseKind.bool_value,
        CauseKind.string_value,
        CauseKind.none_value,
        CauseKind.constant_value,
    ),
    reason=(
        "Booleans, strings, None, dtypes, enums and tuples of them are constants of a graph: each value that is met "
        "has a graph of its own."
    ),
    example="model(x, use_cache=True); model(x, use_cache=False); model(x, mask=None)",
    remedy="Keep them the same, or accept one graph for each combination.",
    unless="The values are few, as is usual: then there is nothing to do.",
    summary=lambda group, seen: (
        f"{sources(seen)} takes several constant values"
        + (f" ({values(seen)})" if values(seen) else "")
    ),
    fix=(
        "A graph for each combination of values is right. To have fewer, compile the variants as separate "
        "functions, or always pass a tensor where None is passed now."
    ),
)
