"""Sizes vary in the same calls as something that needs a graph of its own.

## What it does

Names sizes that are worth declaring once another cause is cured.

## Why is this bad

A size that changes only when a dtype, a flag or the length of a list changes, too, is not advised:
that call compiles anyway. Once the other cause is gone the size is the next one to recompile for.

## Example

```python
f(x.float())  # (8, 64)
f(y.half())  # (5, 64)
```

## Use instead

Cure the other cause, record again, and take the list from that.

```python
f(x.float())
f(y.float())  # now the first size is what varies
```

## When not to

The other cause is there to stay.

## References

- [How compiles are predicted](../prediction.md)
"""

from collections.abc import Iterator

from pgo_advisor.replay.compiles import SIZE_CAUSES
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.rules.base import Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    others = sorted(_other_causes(code))
    hidden = [
        pair
        for pair in dict.fromkeys(
            pair for frame in code.frames for pair in code.plan.candidates[frame.key]
        )
        if pair not in code.plan.pairs
    ]
    if not others or not hidden:
        return
    fewest = _fewest(code, code.plan.declaration.beside(hidden))
    without = _fewest(code, code.plan.declaration)
    if fewest >= without:
        return
    named = ", ".join(pair.words for pair in hidden[:8])
    more = f" and {len(hidden) - 8} more" if len(hidden) > 8 else ""
    yield remark(
        RULE.id,
        code,
        f"Sizes of {code.name} vary together with something else ({', '.join(others)})",
        f"Cure that first, then declare these as well: {named}{more}. Both together can bring {len(code.compiles)} "
        f"compiles down to {fewest}, the first alone to {without}. Record again to have the list for it.",
    )


def _other_causes(code: CodeObject) -> set[str]:
    """The causes of recompiles that stay, but for sizes."""
    return {
        cause.kind.value
        for recompile in code.recompiles
        for cause in recompile.causes
        if not recompile.removed and cause.kind not in SIZE_CAUSES
    }


def _fewest(code: CodeObject, declared: Declaration) -> int:
    """Compiles with these declared, were sizes all that differs."""
    return sum(code.plan.predictors[frame.key].fewest_by_sizes(declared) for frame in code.frames)


RULE = Rule("PGO204", "hidden-sizes", __doc__, find=_find)
