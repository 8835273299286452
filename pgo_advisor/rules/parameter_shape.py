"""The shape of a parameter or buffer differs between calls.

## What it does

Advises to put parameters and buffers into the list of dynamic sources whose shape varies, where
that saves compiles.

## Why is this bad

Shapes of parameters and buffers are static by `torch._dynamo.config.force_parameter_static_shapes`;
marks on them do nothing, and say nothing. One graph is compiled for each shape: optimizers that
step each weight, LoRA ranks, layers that share one `forward`.

## Example

```python
step = torch.compile(update)
for p in model.parameters():
    step(p, p.grad)  # a compile for each shape
```

## Use instead

To compile once: the entry in `TORCH_COMPILE_DYNAMIC_SOURCES`, or

```python
torch._dynamo.config.force_parameter_static_shapes = False
```

As many graphs as there are shapes are right if kernels matter: then raise the recompile limit to
that number.

## When not to

The kernels of a dynamic weight are slower than those of a static one: 10.99 ms against 3.89 ms in
one report (Advanced_Optimizers 26). With few shapes keep them static and raise the limit.

## References

- `torch/_dynamo/config.py`, `force_parameter_static_shapes`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule("PGO104", "parameter-shape", __doc__, causes=(CauseKind.tensor_size,))
