"""A graph was dropped, or belongs to another backend.

## What it does

Finds recompiles for a graph that is gone, or was made for another backend.

## Why is this bad

`torch.compile` of the same function with another backend or other options does not share graphs; and
a graph goes when a module or object that it is bound to is deleted.

## Example

```python
for x in data:
    torch.compile(f, backend=make_backend())(x)
```

## Use instead

Compile once, outside the loop, with one backend object. Keep the objects alive that the code uses.

```python
compiled = torch.compile(f, backend=make_backend())
for x in data:
    compiled(x)
```

## When not to

There is no gain in it, but to compare backends.

## References

- `torch/_dynamo/guards.py`, `get_guard_fail_reason_helper`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    "PGO502",
    "lost-graph",
    __doc__,
    causes=(CauseKind.backend_changed, CauseKind.entry_deleted),
    summary=lambda code, seen: (
        f"graphs of {code.name} could not be used again: another backend, or an object that is gone"
    ),
    fix="Call torch.compile once and keep its result; keep the objects alive that the compiled code uses.",
)
