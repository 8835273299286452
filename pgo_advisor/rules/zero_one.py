"""A size is 0 or 1 in some calls.

## What it does

Finds recompiles for a size of 0 or 1.

## Why is this bad

Sizes 0 and 1 are specialized even for dynamic dims, since broadcasting depends on them: one graph
more for each. If the first call has size 1, as a warm-up often has, the graph that it makes is of no
further use.

## Example

```python
for x in (batch_of_1, batch_of_8, batch_of_5):
    model(x)
```

## Use instead

Warm up with sizes of at least 2. Or declare the dim unbacked, by `mark_unbacked` or
`TORCH_COMPILE_UNBACKED_SOURCES` (2.8): one graph for all sizes, 0 and 1 included.

```python
torch._dynamo.decorators.mark_unbacked(x, 0)
model(x)
```

## When not to

Unbacked sizes raise data-dependent errors, or break the graph, where code branches on the size
(pytorch 174704).

## References

- `torch/_dynamo/decorators.py`, `mark_unbacked`
- [pytorch 174704: data-dependent errors](https://github.com/pytorch/pytorch/issues/174704)
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import inputs

RULE = Rule(
    "PGO105",
    "zero-one",
    __doc__,
    causes=(CauseKind.zero_one, CauseKind.tensor_size),
    concerns=lambda code, cause: (
        cause.kind is CauseKind.zero_one or bool({"0", "1"} & {cause.expected, cause.actual})
    ),
    summary=lambda code, seen: (
        f"A size is 0 or 1 in some calls, which has a graph of its own: {inputs(seen)}"
    ),
    fix="If one extra compile is fine, do nothing. Else avoid the size (drop_last, pad to 2), or declare the dim "
    "unbacked: mark_unbacked, or TORCH_COMPILE_UNBACKED_SOURCES (PyTorch 2.8 and later) instead of the other list.",
)
