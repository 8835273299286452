"""A flag, a string, None or another constant changes.

## What it does

Finds recompiles for another value of what is a constant of each graph.

## Why is this bad

Booleans, strings, None, dtypes, enums and tuples of them are constants of a graph: each value that is
met has a graph of its own.

## Example

```python
model(x, use_cache=True)
model(x, use_cache=False)
model(x, mask=None)
```

## Use instead

Keep them the same, or accept one graph for each combination.

```python
model(x, use_cache=True, mask=mask)
model(x, use_cache=True, mask=everything)  # a tensor in place of None
```

## When not to

The values are few, as is usual: then there is nothing to do.

## References

- `torch/_dynamo/guards.py`, `EQUALS_MATCH`, `CONSTANT_MATCH`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes

RULE = Rule(
    "PGO403",
    "constant-value",
    __doc__,
    causes=(
        CauseKind.bool_value,
        CauseKind.string_value,
        CauseKind.none_value,
        CauseKind.constant_value,
    ),
    concerns=lambda code, cause: cause.source is not None or cause.kind is not CauseKind.none_value,
    summary=lambda code, seen: (
        f"{code.name} is compiled for each of several constants: {changes(seen)}"
    ),
    fix="A graph for each combination of values is right. To have fewer, compile the variants as separate "
    "functions, or pass the same value always: for None, a tensor that stands for it.",
)
