"""The memory layout of a tensor changes.

## What it does

Finds recompiles for other strides of a tensor.

## Why is this bad

Strides are guarded: transposed, channels_last and sliced tensors are other inputs than contiguous
ones, though their sizes are the same.

## Example

```python
f(x)
f(x.t().contiguous().t())
f(y[:, ::2])
```

## Use instead

```python
f(x)
f(x.t().contiguous().t().contiguous())
f(y[:, ::2].contiguous())
```

## When not to

- The copy costs more than a second graph, and there are only two layouts.
- The strides have the same order and other values, as those of `x[:, :3]` of wider and narrower
  buffers: declaring any dim of the tensor makes them symbols, and is advised where that saves a
  compile.

## References

- `torch/csrc/dynamo/guards.cpp`, `TensorCheck::check_verbose`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import sources

RULE = Rule(
    "PGO406",
    "stride",
    __doc__,
    causes=(CauseKind.tensor_stride,),
    summary=lambda code, seen: f"A tensor changes its memory layout: {sources(seen)}",
    fix="Call .contiguous() (or .to(memory_format=…)) on it before the call, so that all calls have one layout.",
)
