"""Very many inputs vary."""

from collections.abc import Iterator

from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.code_object import CodeObject

_MANY = 32


def _find(group: CodeObject) -> Iterator[Finding]:
    if len(group.planned) >= _MANY:
        yield Finding(
            rule=RULE.id,
            frames=(group.id,),
            summary=f"{len(group.planned)} sizes of {group.name} are to be declared",
            fix='If that is too much to keep: torch.compiler.set_stance("eager_then_compile") runs the first '
            "call eagerly and makes dynamic what differs in the second.",
            compiles=0,
            seconds=0.0,
            evidence=(),
        )


RULE = Rule(
    id="many-inputs",
    title="Very many inputs vary",
    causes=(),
    reason=(
        "A long list has to be kept up to date with the code, and every symbol makes compiling slower. Caches of "
        "all layers, or fields of a large batch object, are usual."
    ),
    example="model(x, cache)    # cache: 2 tensors of 48 layers, all growing",
    remedy=(
        'torch.compiler.set_stance("eager_then_compile"): the first call runs eagerly, the second is compiled with '
        "all sizes dynamic that differ from the first."
    ),
    unless="The sizes of the first two calls are the same: then nothing becomes dynamic.",
    find=_find,
)
