"""A size that varies and that declaring would not help."""

from collections.abc import Iterator, Mapping

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.replay.plan import declaration
from pgo_advisor.replay.why_separate import kept_apart
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding, sources
from pgo_advisor.rules.code_object import CodeObject

_SIZES = (CauseKind.tensor_size, CauseKind.int_value)


def _find(group: CodeObject) -> Iterator[Finding]:
    found = [
        (recompile, recompile.causes[0])
        for recompile in group.recompiles
        if not recompile.removed
        and all(
            cause.kind in _SIZES
            and (cause.source, cause.dim) not in group.pinned
            and (cause.dim is None or not {"0", "1"} & {cause.expected, cause.actual})
            for cause in recompile.causes
        )
    ]
    return finding(
        RULE.id,
        group,
        found,
        lambda seen: (
            f"{sources(seen)} varies, but declaring it is not predicted to save this compile"
        ),
        "Something else keeps the calls apart, as told below. Where that is in your code, change it; else pad to few "
        "sizes, or accept the graphs.",
        evidence=_apart(group, {recompile.compile: recompile.compile_id for recompile, _ in found}),
    )


def _apart(group: CodeObject, ids: Mapping[int, str]) -> Iterator[str]:
    """What keeps these compiles from the graph before, by the replay with all declared that varies."""
    for frame in group.frames:
        replay = group.plan.predictors[frame.key]
        marked = declaration([*group.plan.pairs, *group.plan.candidates[frame.key]])
        prediction = replay.predict(marked)
        for call in replay.calls:
            if call.compile in ids and (why := kept_apart(replay, prediction, call, marked)):
                yield f"[{ids[call.compile]}] declared dynamic: {why}"


RULE = Rule(
    id="size-stays",
    title="A size varies, and declaring it would save nothing",
    causes=_SIZES,
    reason=(
        "The replay with this input declared dynamic gives as many compiles as without: each of these calls needs a graph "
        "of its own for another reason as well."
    ),
    example="f(x) with x of (4,), (4, 5), (6, 5): after the change of rank all dims are dynamic anyway",
    remedy="Look at the other differences between the calls.",
    unless="The trace has too little to tell: run the program with the entry and see.",
    find=_find,
)
