"""The cause is not known.

## What it does

Finds recompiles without a reason, or with one that is not understood.

## Why is this bad

PyTorch gave no reason, or one that no release from 2.6 to 2.15 is known to write: no advice can be given
for it.

## Example

```
triggered by the following guard failure(s):
- 0/0: a text of a later release
```

## Use instead

Look at the verbatim reason, which is in the evidence, and please report it, so that it is known.

## When not to

The text is from `TORCH_LOGS=dynamic`, which has no reasons: record with `recompiles`, or with
`TORCH_TRACE`.

## References

- `torch/_dynamo/guards.py`, `get_guard_fail_reason`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    "PGO901",
    "unknown-cause",
    __doc__,
    causes=(CauseKind.unknown,),
    summary=lambda code, seen: "The cause of recompiles is not known",
    fix="PyTorch's reason, if it gave one, is quoted. Please report it, so that it is known.",
)
