"""A dim of an input tensor takes several sizes.

## What it does

Advises to declare dims dynamic whose size varies, where that saves compiles.

## Why is this bad

`torch.compile` compiles the first call for the exact sizes that it sees. A second size means a
second compile. After that the dim is dynamic by itself, but every further input that varies costs
one more compile. Declared dynamic from the start, all sizes from 2 on share one graph.

## Example

```python
for batch in loader:  # batch["ids"] is (8, 311), (8, 287), …
    model(batch["ids"])
```

## Use instead

Mark the dim before each call, or put the entry into `TORCH_COMPILE_DYNAMIC_SOURCES`:

```python
for batch in loader:
    torch._dynamo.mark_dynamic(batch["ids"], 1)
    model(batch["ids"])
```

Use `maybe_mark_dynamic` where the code constrains the size, or where no recorded compile shows that
it does not: `mark_dynamic` raises ConstraintViolationError then. Of inputs that the code requires
to be equal mark all, or none.

## When not to

- Few sizes come again and again, and kernels matter more than compiles: pad to a few buckets and
  keep the dim static.
- Only the last batch of an epoch differs: `drop_last=True`.
- Kernels without known divisibility can be 1.5 to 3.4 times slower (pytorch 176653).
- CUDA graphs are recorded for each size anyway.

The way back: take the entry out, `torch._dynamo.mark_static`, or `TORCH_COMPILE_STATIC_SOURCES`
(2.15).

## References

- [Dynamic shapes](https://docs.pytorch.org/docs/main/torch.compiler_dynamic_shapes.html)
- [pytorch 176653: slower kernels without divisibility](https://github.com/pytorch/pytorch/issues/176653)
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule("PGO101", "varying-dim", __doc__, causes=(CauseKind.tensor_size,))
