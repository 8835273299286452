"""An object is another one, or of another type, than before.

## What it does

Finds recompiles for another object, another type or another attribute at the same place.

## Why is this bad

Functions, modules and other objects that the compiled code uses are guarded by identity or type. A
lambda made anew in each call, a swapped processor, a new closure is a new graph each time. No
declaration of sizes helps.

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

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, on_module, sources

RULE = Rule(
    "PGO402",
    "changing-object",
    __doc__,
    causes=(
        CauseKind.object_identity,
        CauseKind.object_type,
        CauseKind.weakref_dead,
        CauseKind.attribute_presence,
    ),
    concerns=lambda code, cause: not on_module(cause),
    summary=lambda code, seen: f"Another object, or one of another type, is met at {sources(seen)}",
    fix="Make it once and pass the same one: hoist lambdas, closures, partials and configuration objects out of the "
    "loop. No declaration of sizes helps.",
)
