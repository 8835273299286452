"""A tensor is marked dynamic in later calls only.

## What it does

Finds recompiles for a tensor with a mark that the tensors of earlier calls did not have.

## Why is this bad

A graph of an unmarked tensor does not take a marked one. Marks are lost through any eager operation,
so `x.to(device)` after `mark_dynamic` leaves an unmarked tensor.

## Example

```python
f(x)
torch._dynamo.mark_dynamic(y, 0)
f(y)
```

## Use instead

Mark the tensor that is passed, right before the first call:

```python
torch._dynamo.mark_dynamic(x, 0)
f(x)
f(y)  # needs no mark
```

## When not to

There is no gain in marking late.

## References

- `torch/_dynamo/guards.py`, `TENSOR_MATCH` (`_dynamo_dynamic_indices`)
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import inputs

RULE = Rule(
    "PGO503",
    "marking-changed",
    __doc__,
    causes=(CauseKind.marking_changed,),
    summary=lambda code, seen: (
        f"Marked dynamic in a later call, and not in the first: {inputs(seen)}"
    ),
    fix="Mark it before the first call: then calls without the mark use the same graph.",
)
