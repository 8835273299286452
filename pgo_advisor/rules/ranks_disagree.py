"""Ranks of one job compile differently."""

from collections import Counter
from collections.abc import Iterator

from pgo_advisor.report import Finding, runs_in_words
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    # a log that ends within a compile tells nothing of what came then
    by_rank: Counter[int] = Counter()
    for frame in group.frames:
        if frame.rank is not None and not any(call.outcome == "unknown" for call in frame.calls):
            by_rank[frame.rank] += len(frame.calls)
    if len(set(by_rank.values())) < 2:
        return
    most, least = (
        max(by_rank, key=lambda rank: by_rank[rank]),
        min(by_rank, key=lambda rank: by_rank[rank]),
    )
    behind = sum(by_rank.values()) - len(by_rank) * by_rank[least]
    yield Finding(
        rule=RULE.id,
        frames=(group.id,),
        summary=(
            f"Ranks disagree on {group.name}: {by_rank[most]} compiles on rank {most}, {by_rank[least]} on "
            f"rank {least}, so the others wait for it"
        ),
        fix=(
            "The advice is for all ranks together: set it on each. "
            "torch._dynamo.config.enable_compiler_collectives = True lets ranks agree on what is dynamic."
        ),
        compiles=behind,
        seconds=0.0,
        evidence=tuple(
            f"{count} compiles: "
            f"{runs_in_words(sorted(rank for rank, own in by_rank.items() if own == count), 'rank')}"
            for count in sorted(set(by_rank.values()), reverse=True)[:16]
        ),
    )


RULE = Rule(
    id="ranks-disagree",
    title="Ranks of one job compile at different times",
    causes=(),
    reason=(
        "Each rank sees its own sizes and recompiles by itself; at the next collective all others wait for it, up to "
        "a time-out."
    ),
    example="rank 3 meets a longer sequence than before, in step 1,712",
    remedy="Declare the union of what varies on any rank, on every rank; or enable_compiler_collectives.",
    unless="The ranks run different parts of the model (pipeline parallel).",
    find=_find,
)
