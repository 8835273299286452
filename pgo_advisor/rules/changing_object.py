"""An object is another one, or of another type, than before.

## What it does

Finds recompiles for another object, another type or another attribute at the same place.

## Why is this bad

Functions, modules and other objects that the compiled code uses are guarded by identity or type. A
lambda made anew in each call, a swapped processor, a new closure is a new graph each time. So is an
object of a class that is defined anew: a class statement within a function makes another class in each
call. No declaration of sizes helps, and any recompile limit is hit again.

## Example

```python
for batch in loader:
    step(batch, lambda t: t * scale)
```

## Use instead

Make the object once, outside the loop; pass what varies as tensors.

```python
def scaled(t):
    return t * scale


for batch in loader:
    step(batch, scaled)
```

## When not to

There are few such objects, each used often (adapters): as many graphs are right; raise the limit.

## References

- `torch/_dynamo/guards.py`, `ID_MATCH`, `TYPE_MATCH`, `CLOSURE_MATCH`
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Found, Rule, finding, on_module
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.object_classes import made_anew
from pgo_advisor.rules.phrases import changes, sources

_CAUSES = (
    CauseKind.object_identity,
    CauseKind.object_type,
    CauseKind.weakref_dead,
    CauseKind.attribute_presence,
)


def _find(code: CodeObject) -> Iterator[Found]:
    anew = made_anew(code)
    found = [
        (recompile, cause)
        for recompile, cause in code.with_cause(*_CAUSES)
        if cause.source in anew or _is_own(code, cause)
    ]
    yield from finding(
        RULE.id,
        code,
        ((recompile, cause) for recompile, cause in found if cause.source in anew),
        lambda seen: f"A class is defined anew, and is another one each time: {changes(seen)}",
        "Define the class once, outside of the function or loop that makes the object. A higher recompile limit is "
        "hit again, since each new class needs a graph.",
    )
    yield from finding(
        RULE.id,
        code,
        ((recompile, cause) for recompile, cause in found if cause.source not in anew),
        lambda seen: f"Another object, or one of another type, is met at {sources(seen)}",
        "Make it once and pass the same one: hoist lambdas, closures, partials and configuration objects out of the "
        "loop. No declaration of sizes helps, and while new ones come, any recompile limit is hit again.",
    )


def _is_own(code: CodeObject, cause: Cause) -> bool:
    """Whether it is neither another instance of a module, nor another function, nor a number."""
    return not (
        on_module(cause)
        or code.of_another_function(cause)
        or cause.source in code.numbers_of_two_types
    )


RULE = Rule("PGO402", "changing-object", __doc__, causes=_CAUSES, find=_find)
