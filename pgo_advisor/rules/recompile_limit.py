"""The recompile limit was hit.

## What it does

Tells which code ran into the limit of graphs for one code object.

## Why is this bad

After `recompile_limit` graphs for one code object (8 unless set) PyTorch gives up: calls that no
graph takes run eagerly, with a warning only. Nothing is recorded after that.

Graphs for different objects that are guarded by identity, as instances of a module, are counted apart.
`accumulated_recompile_limit` (256) bounds all graphs of the code object together.

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

- Objects or classes are made anew in each call: any limit is hit again (changing-object).
- Raising the limit without knowing the cause only delays it, and costs a compile for each value.

## References

- `torch/_dynamo/cache_size.py`, `exceeds_recompile_limit`
- [pytorch 186537](https://github.com/pytorch/pytorch/issues/186537)
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Found, Rule, finding, on_module
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.limits import accumulated, raised
from pgo_advisor.rules.object_classes import made_anew

_NEW_OBJECTS = {CauseKind.object_identity, CauseKind.object_type, CauseKind.weakref_dead}
_NO_REASON = {CauseKind.recompile_limit, CauseKind.not_in_text, CauseKind.unknown}


_MAKE_ONCE = (
    "A higher limit is hit again as long as new objects or classes come: make them once, outside of what is called "
    "again and again."
)
_INSTANCES = "If it is the number of instances, raise the limit to that: "


def _find(code: CodeObject) -> Iterator[Found]:
    kind = "accumulated recompile limit" if _is_accumulated(code) else "recompile limit"
    limits = ", ".join(map(str, code.limits(kind.replace(" ", "_"))))
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
            f"{code.told_name} hit the {kind}{limit}: it runs eagerly from then on, uncompiled"
        ),
        _fix(code),
    )


def _is_accumulated(code: CodeObject) -> bool:
    return any("accumulated" in (call.failure or "") for call in code.compiles)


def _fix(code: CodeObject) -> str:
    causes = [cause for recompile in code.recompiles for cause in recompile.causes]
    kinds = {cause.kind for cause in causes}
    if kinds & _NEW_OBJECTS and not kinds - _NEW_OBJECTS - _NO_REASON:
        new = not any(map(on_module, causes)) or made_anew(code)
        return _MAKE_ONCE if new else f"{_INSTANCES}{raised(code.release, 'N')}. {_MAKE_ONCE}"
    if not kinds - _NO_REASON:
        return (
            "Why is not recorded: record again with TORCH_TRACE=DIR, or TORCH_LOGS=recompiles, which tells "
            "the reason of each recompile, before you raise a limit."
        )
    if _is_accumulated(code):
        return (
            "It bounds all graphs of the code together, whichever objects they are for. Cure the recompiles first, "
            f"as advised. If that many graphs are right, raise {accumulated(code.release)}; "
            "recompile_limit does not change it."
        )
    return (
        "Cure the recompiles first, as advised. If that many graphs are right, raise the limit, "
        f"{raised(code.release, 'N')}; how many are needed in all, no record shows. What varied after the "
        "limit was hit no record shows either: record again with the advice."
    )


RULE = Rule("PGO302", "recompile-limit", __doc__, causes=(CauseKind.recompile_limit,), find=_find)
