"""A varying size is pinned by the compiled code.

## What it does

Finds recompiles for a size or an int that the compiled code turns into a constant.

## Why is this bad

While tracing, the symbol of this size was set to a constant: something in the code allows only one
value for each graph. No declaration helps; `mark_dynamic` raises ConstraintViolationError.

## Example

```python
SCALES = {16: 0.5, 32: 0.25}


@torch.compile
def f(x):
    return x * SCALES[x.shape[1]]
```

## Use instead

The evidence has the user's line. Change it, or bring the size to few values:

```python
SCALES = torch.linspace(0, 1, 64)


@torch.compile
def f(x):
    return x * SCALES.narrow(0, x.shape[1], 1)
```

## When not to

The pin is right and the sizes are few: raise the recompile limit to their number.

## References

- `torch/fx/experimental/symbolic_shapes.py`, `ConstraintViolationError`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes
from pgo_advisor.rules.user_lines import pinning

RULE = Rule(
    "PGO201",
    "pinned-dim",
    __doc__,
    causes=(CauseKind.tensor_size, CauseKind.int_value),
    concerns=lambda code, cause: (cause.source, cause.dim) in code.specialized,
    summary=lambda code, seen: (
        f"The code turns {changes(seen, dims=True)} into a constant, whatever is declared"
    ),
    fix="Look at the line that pins it: a size that has to equal a parameter's, range(n), an index into a list, "
    "int(n), an operator without dynamic shapes. Change it, or pad to few sizes.",
    lines=pinning,
)
