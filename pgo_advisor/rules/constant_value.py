"""A string, a flag, None or another constant changes."""

from collections.abc import Iterator

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding
from pgo_advisor.rules.base import Group, Rule, finding, sources, values

_CAUSES = (
    CauseKind.bool_value,
    CauseKind.string_value,
    CauseKind.none_value,
    CauseKind.constant_value,
)


def _find(group: Group) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        group.with_cause(*_CAUSES),
        lambda seen: (
            f"{sources(seen)} takes several constant values"
            + (f" ({values(seen)})" if values(seen) else "")
        ),
        "A graph for each combination of values is right. To have fewer, compile the variants as separate "
        "functions, or always pass a tensor where None is passed now.",
    )


RULE = Rule(
    id="constant-value",
    title="A flag, a string, None or another constant changes",
    causes=_CAUSES,
    reason=(
        "Booleans, strings, None, dtypes, enums and tuples of them are constants of a graph: each value that is met "
        "has a graph of its own."
    ),
    example="model(x, use_cache=True); model(x, use_cache=False); model(x, mask=None)",
    remedy="Keep them the same, or accept one graph for each combination.",
    unless="The values are few, as is usual: then there is nothing to do.",
    find=_find,
)
