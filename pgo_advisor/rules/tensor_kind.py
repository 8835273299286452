"""A tensor's dtype, device, requires_grad, dispatch keys or class changes.

## What it does

Finds recompiles for a tensor of another form than the graph was made for.

## Why is this bad

A graph is made for tensors of one dtype, on one device, with or without grad. Autocast,
`inference_mode`, evaluation between training steps and mixed loaders change them without notice.

## Example

```python
model(x.float())
model(x.half())
with torch.inference_mode():
    model(x)
```

## Use instead

Convert before the call, or accept one graph for each form.

```python
model(x.float())
model(y.float())
```

## When not to

Training and evaluation both run compiled: two graphs are right.

## References

- `torch/csrc/dynamo/guards.cpp`, `TensorCheck::check_verbose`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources, values


def _property(kind: CauseKind) -> str:
    return kind.value.removeprefix("tensor-").replace("requires-grad", "requires_grad")


RULE = Rule(
    "PGO404",
    "tensor-kind",
    __doc__,
    causes=(
        CauseKind.tensor_dtype,
        CauseKind.tensor_device,
        CauseKind.tensor_requires_grad,
        CauseKind.tensor_dispatch_keys,
        CauseKind.tensor_type,
    ),
    summary=lambda code, seen: (
        f"{sources(seen)} changes its "
        f"{' and '.join(dict.fromkeys(_property(cause.kind) for cause in seen))} ({values(seen)})"
    ),
    fix="Bring the inputs to one form before the call: .to(dtype), .to(device), .detach(), the same autocast and "
    "inference_mode for all calls. Each form has a graph of its own.",
)
