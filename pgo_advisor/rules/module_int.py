"""An int attribute of a module changes and is never made dynamic by itself.

## What it does

Advises to put ints on modules, and in globals, into the list of dynamic sources, where that saves
compiles.

## Why is this bad

Since 2.8 ints on an `nn.Module` stay constants however often they change, and so do global ints:
every value is a compile, up to the recompile limit.

## Example

```python
class M(nn.Module):
    def forward(self, x):
        self.step += 1  # a compile each call
        return x * self.step
```

## Use instead

The entry in `TORCH_COMPILE_DYNAMIC_SOURCES` makes one graph. For modules,
`torch._dynamo.config.allow_unspec_int_on_nn_module = True` makes two. Or keep the number in a tensor:

```python
class M(nn.Module):
    def forward(self, x):
        self.step.add_(1)  # a tensor
        return x * self.step
```

## When not to

The number is needed as a constant, as a layer's index is: then see shared-code.

## References

- `torch/_dynamo/config.py`, `allow_unspec_int_on_nn_module`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule("PGO103", "module-int", __doc__, causes=(CauseKind.int_value,))
