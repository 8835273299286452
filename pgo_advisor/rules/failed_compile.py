"""A compile that ended with an exception."""

from collections.abc import Iterator

from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.code_object import CodeObject


def _find(group: CodeObject) -> Iterator[Finding]:
    failed = [call for call in group.calls if call.outcome == "failed"]
    if failed:
        yield Finding(
            rule=RULE.id,
            frames=(group.id,),
            summary=f"{len(failed)} of {len(group.calls)} compiles of {group.name} ended with an exception",
            fix="Mend that first: what a failed compile would have recompiled for cannot be known.",
            compiles=0,
            seconds=sum(call.seconds for call in failed),
            evidence=tuple(dict.fromkeys(call.failure for call in failed if call.failure)),
        )


RULE = Rule(
    id="failed-compile",
    title="A compile ended with an exception",
    causes=(),
    reason="The function could not be compiled. It ran eagerly, or the program stopped.",
    example="torch._dynamo.exc.Unsupported, torch._inductor.exc.InductorError, ConstraintViolationError",
    remedy="The evidence has the exception. A ConstraintViolationError is a mark that the code contradicts.",
    unless="Never.",
    find=_find,
)
