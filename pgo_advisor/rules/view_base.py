"""A tensor is a view in some calls and none in others.

## What it does

Finds recompiles since a graph has guards on the base of a view, and the call's tensor has no base.

## Why is this bad

Of a view PyTorch guards the tensor that it is a view of, where that one's sizes are symbols. A tensor
that is no view has no base, so the graph does not take it: it needs one more.

## Example

```python
@torch.compile(dynamic=True)
def norm(x):
    return x.sin()


norm(pool[:4])
norm(torch.randn(6, 8))
```

## Use instead

```python
norm(pool[:4].clone())
norm(torch.randn(6, 8))
```

## When not to

The copy costs more than a second graph.

## References

- `torch/_subclasses/meta_utils.py`, `MetaConverter` (`_base`)
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    "PGO410",
    "view-base",
    __doc__,
    causes=(CauseKind.none_value,),
    concerns=lambda code, cause: cause.source is None,
    summary=lambda code, seen: (
        f"A tensor of {code.name} is a view in some calls and none in others"
    ),
    fix="Pass a copy where it is a view (x.clone()), or a view in every call. PyTorch does not say of which tensor "
    "the guard on the base failed.",
)
