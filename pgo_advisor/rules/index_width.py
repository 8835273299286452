"""A tensor has more elements than 32 bits count in some calls.

## What it does

Finds recompiles for a product of sizes that is on the other side of 2,147,483,647 than that of the
graph.

## Why is this bad

Inductor's kernels index with 32 bits where that is enough, and with 64 where it is not. The choice is a
guard on the product of the sizes, also when they are declared dynamic: one graph for each side.

## Example

```python
@torch.compile
def f(x):
    return x.sin()


f(torch.empty(1 << 20, 2000))  # fewer than 2**31 elements
f(torch.empty(1 << 20, 3000))  # more
```

## Use instead

Nothing, if one more graph is fine. Else split the large input, so that all calls stay below.

## When not to

The cause is PyTorch's own choice of kernel; no declaration of sizes changes it.

## References

- `torch/_inductor/codegen/simd.py`, `SIMDScheduling.can_use_32bit_indexing`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import inputs

RULE = Rule(
    "PGO206",
    "index-width",
    __doc__,
    causes=(CauseKind.index_width,),
    summary=lambda code, seen: (
        f"A tensor has more elements than 32 bits count, in some calls: {inputs(seen)}"
    ),
    fix="One graph for each side is right. To have one, split the large input, so that all calls stay below.",
)
