"""Very many inputs vary.

## What it does

Tells of functions with 32 or more sizes to declare.

## Why is this bad

A long list has to be kept up to date with the code, and every symbol makes compiling slower. Caches
of all layers, or fields of a large batch object, are usual.

## Example

```python
model(x, cache)  # cache: 2 tensors of 48 layers, all growing
```

## Use instead

The first call runs eagerly, the second is compiled with all sizes dynamic that differ from the first:

```python
torch.compiler.set_stance("eager_then_compile")
model(x, cache)
```

## When not to

The sizes of the first two calls are the same: then nothing becomes dynamic.

## References

- [torch.compiler.set_stance](https://docs.pytorch.org/docs/main/generated/torch.compiler.set_stance.html)
"""

from collections.abc import Iterator

from pgo_advisor.rules.base import Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject

_MANY = 32


def _find(code: CodeObject) -> Iterator[Found]:
    if len(code.planned) >= _MANY:
        yield remark(
            RULE.id,
            code,
            f"{len(code.planned)} sizes of {code.name} are to be declared",
            'If that is too much to keep: torch.compiler.set_stance("eager_then_compile") runs the first '
            "call eagerly and makes dynamic what differs in the second.",
        )


RULE = Rule("PGO603", "many-inputs", __doc__, find=_find)
