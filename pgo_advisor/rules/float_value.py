"""A float changes.

## What it does

Finds recompiles for another value of a float.

## Why is this bad

A float is a constant of the first graph and becomes an input after its first change; the list of
dynamic sources does not spare that recompile. With CUDA graphs it stays a constant: a compile for
each value.

## Example

```python
step(lr=scheduler.get_last_lr()[0])
```

## Use instead

Make it a tensor, filled in place:

```python
lr = torch.tensor(0.1)
for batch in loader:
    lr.fill_(scheduler.get_last_lr()[0])
    step(lr=lr)
```

## When not to

It changes once or twice in the whole run: one recompile may be cheaper than the change.

## References

- `torch/_dynamo/variables/builder.py`, `wrap_symfloat`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes

RULE = Rule(
    "PGO401",
    "float-value",
    __doc__,
    causes=(CauseKind.float_value,),
    concerns=lambda code, cause: cause.source not in code.numbers_of_two_types,
    summary=lambda code, seen: f"A float changes: {changes(seen)}",
    fix="Pass it as a tensor: torch.tensor(lr). A list entry does not spare its recompile.",
)
