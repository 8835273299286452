"""An input that is declared already."""

from collections.abc import Iterator

from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    given = [
        pair
        for pair in group.varying
        if any(pair in group.plan.predictors[frame.key].given for frame in group.frames)
        or any(pair in call.marked for call in group.calls)
    ]
    dynamic = [pair for pair in given if pair not in group.pinned]
    if dynamic:
        named = ", ".join(pair.words for pair in dynamic[:6])
        yield Finding(
            rule=RULE.id,
            frames=(group.id,),
            summary=f"Dynamic from the first compile on, by a mark, a list, dynamic=True or an earlier profile: {named}",
            fix=(
                "Nothing. If it was a profile of an earlier run (PGO), a run without that profile recompiles: record "
                "with fresh cache directories to see."
            ),
            compiles=0,
            seconds=0.0,
            evidence=(),
        )


RULE = Rule(
    id="already-dynamic",
    title="A varying input is dynamic from the first compile on",
    causes=(),
    reason=(
        "The size was a symbol in the first compile: it is marked, stands in a list, dynamic=True is set, or a PGO "
        "profile of an earlier run with the same job id was found."
    ),
    example="TORCH_COMPILE_JOB_ID=exp1 python train.py   # the second run starts dynamic",
    remedy="Nothing.",
    unless="It is pinned all the same: see pinned-dim.",
    find=_find,
)
