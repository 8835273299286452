"""An object, its type, or its attributes change."""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding, sources
from pgo_advisor.rules.code_object import CodeObject

_CAUSES = (
    CauseKind.object_identity,
    CauseKind.object_type,
    CauseKind.weakref_dead,
    CauseKind.attribute_presence,
)


def _find(group: CodeObject) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        (
            (recompile, cause)
            for recompile, cause in group.with_cause(*_CAUSES)
            if not (cause.source or "").startswith("L['self']")
        ),
        lambda seen: f"Another object, or one of another type, is met at {sources(seen)}",
        "Make it once and pass the same one: hoist lambdas, closures, partials and configuration objects out of the "
        "loop. No declaration of sizes helps.",
    )


RULE = Rule(
    id="changing-object",
    title="An object is another one, or of another type, than before",
    causes=_CAUSES,
    reason=(
        "Functions, modules and other objects that the compiled code uses are guarded by identity or type. A lambda "
        "made anew in each call, a swapped processor, a new closure is a new graph each time."
    ),
    example="for batch in loader:\n    step(batch, lambda t: t * scale)",
    remedy="Make the object once, outside the loop; pass what varies as tensors.",
    unless="There are few such objects, each used often (adapters): as many graphs are right; raise the limit.",
    find=_find,
)
