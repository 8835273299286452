"""The recompile limit was hit.

## What it does

Tells which code ran into the limit of graphs for one code object.

## Why is this bad

After `recompile_limit` graphs for one code object (8 unless set) PyTorch gives up: calls that no
graph takes run eagerly, with a warning only. Nothing is recorded after that.

## Example

```
torch._dynamo hit config.recompile_limit (8)
```

## Use instead

Cure the cause. Where the graphs are right, raise the limit (`cache_size_limit` before 2.6):

```python
torch._dynamo.config.recompile_limit = 16
```

Since 2.12 overrides of the configuration are seen by the thread that made them only: backward and
worker threads do not see them. `torch.compile(…, recompile_limit=16)` (2.12) sets it for one compile.

## When not to

Raising the limit without knowing the cause only delays it, and costs a compile for each value.

## References

- `torch/_dynamo/cache_size.py`, `exceeds_recompile_limit`
- [pytorch 186537](https://github.com/pytorch/pytorch/issues/186537)
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Found, Rule, finding
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    limits = ", ".join(map(str, code.recompile_limits))
    limit = f" ({limits})" if limits else ""
    return finding(
        RULE.id,
        code,
        (
            (recompile, cause)
            for recompile in code.recompiles
            for cause in recompile.causes
            if cause.kind is CauseKind.recompile_limit
        ),
        lambda seen: (
            f"{code.name} hit the recompile limit{limit}: it runs eagerly from then on, uncompiled"
        ),
        "Cure the recompiles first, as advised. If that many graphs are right, raise "
        "torch._dynamo.config.recompile_limit; how many are needed in all, the trace does not show. What varied after the "
        "limit was hit no record shows either: record again with the advice.",
    )


RULE = Rule("PGO302", "recompile-limit", __doc__, causes=(CauseKind.recompile_limit,), find=_find)
