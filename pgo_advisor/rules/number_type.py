"""A number is an int in some calls and a float in others.

## What it does

Finds recompiles for a number of another type than the graph was made for.

## Why is this bad

A graph is made for an int or for a float, also where the number itself is a symbol: so there is one
more. JSON, YAML and `round` give either, as the number happens to be.

## Example

```python
@torch.compile
def damp(x, k):
    return x * k


for k in (2, 3, 2.5, 4):
    damp(x, k)
```

## Use instead

```python
damp(x, float(k))
```

## When not to

The code needs an int in some calls, as for an index: two graphs are right.

## References

- `torch/_dynamo/guards.py`, `TYPE_MATCH`
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import whole_number
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Found, Rule, finding
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.phrases import sources

_CAUSES = (CauseKind.object_type, CauseKind.int_value, CauseKind.float_value)


def _find(code: CodeObject) -> Iterator[Found]:
    return finding(
        RULE.id,
        code,
        (found for found in code.with_cause(*_CAUSES) if _concerns(code, found[1])),
        lambda seen: f"A number is an int in some calls and a float in others: {sources(seen)}",
        "Convert it before the call, as by float(k), so that it always has one type: each has a graph of its own.",
    )


def _concerns(code: CodeObject, cause: Cause) -> bool:
    """Whether the type changed; where the values are told, one of them is no whole number."""
    if cause.source not in code.numbers_of_two_types:
        return False
    whole = {whole_number(side) is not None for side in (cause.expected, cause.actual) if side}
    return cause.kind is CauseKind.object_type or len(whole) == 2


RULE = Rule("PGO409", "number-type", __doc__, causes=(CauseKind.object_type,), find=_find)
