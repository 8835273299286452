"""Sizes that vary only where something else changes as well."""

from collections.abc import Iterator

from pgo_advisor.replay.guarding import SIZE_CAUSES
from pgo_advisor.replay.plan import declaration
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    others = {
        cause.kind.value
        for recompile in group.recompiles
        for cause in recompile.causes
        if not recompile.removed and cause.kind not in SIZE_CAUSES
    }
    hidden = dict.fromkeys(
        pair
        for frame in group.frames
        for pair in group.plan.candidates[frame.key]
        if pair not in group.plan.pairs
    )
    if not others or not hidden:
        return
    declared = declaration([*group.plan.pairs, *hidden])
    fewest = sum(
        group.plan.predictors[frame.key].fewest_by_sizes(declared) for frame in group.frames
    )
    without = sum(
        group.plan.predictors[frame.key].fewest_by_sizes(group.plan.marked())
        for frame in group.frames
    )
    if fewest >= without:
        return
    named = ", ".join(pair.words for pair in list(hidden)[:8])
    more = f" and {len(hidden) - 8} more" if len(hidden) > 8 else ""
    yield Finding(
        rule=RULE.id,
        frames=(group.id,),
        summary=f"Sizes of {group.name} vary together with something else ({', '.join(sorted(others))})",
        fix=f"Cure that first, then declare these as well: {named}{more}. Both together can bring {len(group.calls)} "
        f"compiles down to {fewest}, the first alone to {without}. Record again to have the list for it.",
        compiles=0,
        seconds=0.0,
        evidence=(),
    )


RULE = Rule(
    id="hidden-sizes",
    title="Sizes vary in the same calls as something that needs a graph of its own",
    causes=(),
    reason=(
        "A size that changes only when a dtype, a flag or the length of a list changes, too, is not advised: that call "
        "compiles anyway. Once the other cause is gone the size is the next one to recompile for."
    ),
    example="f(x.float()) with x of (8, 64), then f(x.half()) with x of (5, 64)",
    remedy="Cure the other cause, record again, and take the list from that.",
    unless="The other cause is there to stay.",
    find=_find,
)
