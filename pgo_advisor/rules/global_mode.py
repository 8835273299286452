"""Grad mode, autocast or another global state changes between calls.

## What it does

Finds recompiles for a global state other than that under which the graph was made.

## Why is this bad

A graph is bound to the global state under which it was made: grad mode, autocast, default dtype and
device, deterministic algorithms, TF32, number of threads, torch function modes.

## Example

```python
model(x)
with torch.no_grad():
    model(x)  # a second graph
```

## Use instead

Set what differs once, outside of the loop, or accept one graph for each state.

```python
with torch.no_grad():
    for x in loader:
        model(x)
```

## When not to

Training with grad and validation without: two graphs are right.

## References

- `torch/_dynamo/guards.py`, `GRAD_MODE`, `GLOBAL_STATE`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Rule


def _states(cause: Cause) -> list[str]:
    told = (cause.actual or "").replace("grad_mode", "grad mode").split(", ")
    return list(filter(None, told)) or ["a mode that the record does not name"]


RULE = Rule(
    "PGO501",
    "global-mode",
    __doc__,
    causes=(CauseKind.grad_mode, CauseKind.global_state),
    summary=lambda code, seen: (
        f"{code.name} is called under different global states: "
        + ", ".join(dict.fromkeys(state for cause in seen for state in _states(cause)))
    ),
    fix="Call it always under the same one, or accept a graph for each: torch.no_grad, autocast, default dtype, "
    "deterministic algorithms and the number of threads all count.",
)
