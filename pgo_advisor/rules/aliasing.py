"""The same tensor is passed twice in some calls only.

## What it does

Finds recompiles for inputs that are one tensor in some calls and several in others.

## Why is this bad

Whether inputs are the same tensor is guarded, since writing to one would change the other.

## Example

```python
f(x, x)
f(x, y)
```

## Use instead

Pass a clone, or the same pattern in every call.

```python
f(x, x.clone())
f(x, y)
```

## When not to

Self-attention and cross-attention share one function: two graphs are right.

## References

- `torch/_dynamo/guards.py`, `DUPLICATE_INPUT`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import sources

RULE = Rule(
    "PGO408",
    "aliasing",
    __doc__,
    causes=(CauseKind.aliasing,),
    summary=lambda code, seen: (
        f"Inputs are one tensor in some calls and several in others ({sources(seen)})"
    ),
    fix="Pass a copy (x.clone()) where the same tensor is passed twice, or pass it twice in every call.",
)
