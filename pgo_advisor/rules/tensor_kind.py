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

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes

_PROPERTIES = {
    CauseKind.tensor_dtype: "dtype",
    CauseKind.tensor_device: "device",
    CauseKind.tensor_requires_grad: "requires_grad",
    CauseKind.tensor_dispatch_keys: "dispatch keys",
    CauseKind.tensor_type: "class",
}


def _by_property(seen: list[Cause]) -> Iterator[tuple[str, list[Cause]]]:
    for kind, name in _PROPERTIES.items():
        if causes := [cause for cause in seen if cause.kind is kind]:
            yield name, causes


RULE = Rule(
    "PGO404",
    "tensor-kind",
    __doc__,
    causes=tuple(_PROPERTIES),
    summary=lambda code, seen: "; ".join(
        f"A tensor changes its {name}: {changes(causes)}" for name, causes in _by_property(seen)
    ),
    fix="Bring the inputs to one form before the call: .to(dtype), .to(device), .detach(), the same autocast and "
    "inference_mode for all calls. Each form has a graph of its own.",
)
