"""A list, tuple or dict changes its length or its keys.

## What it does

Finds recompiles for another length, or other keys, of a container.

## Why is this bad

A container is unrolled while tracing: its length and keys are constants of the graph.

## Example

```python
caches.append(new)  # a list that grows with each call
model(x, caches)
```

## Use instead

Stack its tensors into one with a dynamic dim, or pad to a fixed length.

```python
caches = torch.cat([caches, new[None]])
model(x, caches)
```

## When not to

There are few lengths, each used often.

## References

- `torch/_dynamo/guards.py`, `SEQUENCE_LENGTH`, `DICT_KEYS_MATCH`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import changes

RULE = Rule(
    "PGO407",
    "container",
    __doc__,
    causes=(CauseKind.container_length, CauseKind.dict_keys),
    summary=lambda code, seen: f"A container changes its length or keys: {changes(seen)}",
    fix="The structure of containers is never dynamic: stack the tensors into one, pad the list, or always pass the "
    "same keys.",
)
