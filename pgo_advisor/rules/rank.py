"""The number of dims of a tensor changes.

## What it does

Finds recompiles for a tensor with another number of dims.

## Why is this bad

The rank is always static: each number of dims has a graph of its own. After a change of rank all dims
of the input become dynamic by themselves.

## Example

```python
f(torch.ones(4))
f(torch.ones(4, 5))
```

## Use instead

Bring the input to one rank before the call:

```python
f(torch.ones(4).unsqueeze(1))
f(torch.ones(4, 5))
```

## When not to

There are two or three ranks, each used often: as many graphs are right.

## References

- `torch/csrc/dynamo/guards.cpp`, `TensorCheck::check_verbose`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes

RULE = Rule(
    "PGO405",
    "rank",
    __doc__,
    causes=(CauseKind.tensor_rank,),
    summary=lambda code, seen: f"A tensor changes its number of dims: {changes(seen)}",
    fix="Give it one rank: unsqueeze or reshape before the call. No declaration makes the rank dynamic, and after a "
    "change of rank all dims of the input become dynamic by themselves.",
)
