"""A compile ended with an exception.

## What it does

Tells which code failed to compile, and by which exceptions.

## Why is this bad

The function could not be compiled: it ran eagerly, or the program stopped. What a failed compile would
have recompiled for cannot be known.

## Example

```python
@torch.compile(fullgraph=True)
def f(x):
    print(x.sum().item())  # torch._dynamo.exc.Unsupported
    return x + 1
```

## Use instead

Mend what the exception names, which is in the evidence. A ConstraintViolationError is a mark that the
code contradicts: `maybe_mark_dynamic`, or no mark.

```python
@torch.compile(fullgraph=True)
def f(x):
    return x + 1
```

## When not to

The code is meant to run eagerly: then say so, with `torch.compiler.disable`.

## References

- `torch/_dynamo/exc.py`
"""

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from pgo_advisor.rules.base import Claim, Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    failed = {
        call.key: call
        for call in code.compiles
        if call.outcome == "failed" and not call.pinned_to  # which pinned-dim tells
    }
    if not failed:
        return
    claims = {
        recompile.compile: Claim.last(recompile)
        for recompile in code.recompiles
        if recompile.compile in failed
    }
    found = remark(
        RULE.id,
        code,
        f"{len(failed)} of {len(code.compiles)} compiles of {code.told_name} ended with an exception",
        "Mend that first: what a failed compile would have recompiled for cannot be known.",
        evidence=(call.failure for call in failed.values() if call.failure),
        lines=(call.failed_at for call in failed.values() if call.failed_at),
        claims=claims,
    )
    first = sum(call.seconds for key, call in failed.items() if key not in claims)
    yield replace(found, finding=structs.replace(found.finding, seconds=first))


RULE = Rule("PGO604", "failed-compile", __doc__, find=_find)
