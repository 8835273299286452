"""Recompiles are not in the text.

## What it does

Finds recompiles that console text implies and does not tell.

## Why is this bad

A compile id as `0/7`, or the warning at the limit, says that there were recompiles before. The text
that was given does not hold their reasons, so nothing can be advised for them.

## Example

```
torch._dynamo hit config.recompile_limit (8)
```

## Use instead

Record again: `TORCH_LOGS=recompiles` prints every reason, `TORCH_TRACE=DIR` records all inputs and
times.

## When not to

The reasons that are in the text are likely to be theirs, too.

## References

- `torch/_dynamo/convert_frame.py`, `recompile_limit`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    "PGO902",
    "not-in-text",
    __doc__,
    causes=(CauseKind.not_in_text,),
    summary=lambda code, seen: (
        f"The text does not tell why {code.told_name} "
        f"was recompiled {len(seen)} time{'s' if len(seen) > 1 else ''}"
    ),
    fix="Record again with TORCH_TRACE=DIR, or TORCH_LOGS=recompiles, which prints every reason.",
)
