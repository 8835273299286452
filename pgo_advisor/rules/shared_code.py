"""Layers or instances share one code object.

## What it does

Finds recompiles for another instance of a module that runs the same code, and tells how many graphs
are right.

## Why is this bad

All instances of a class run the same `forward`, and PyTorch keeps graphs, and counts recompiles, by
code object. Layers of different widths, or with different submodules, need as many graphs as there
are kinds of them, though nothing varies within one.

## Example

```python
for layer in model.layers:  # 12 layers, 9 different widths
    layer.compile()  # limit 8: the ninth runs eagerly
```

## Use instead

Raise the limit to the number of kinds: for one compile by `recompile_limit=` (2.12) and
`isolate_recompiles=True` (2.13), which keeps its graphs apart and counts them alone; else for all by
`torch._dynamo.config.recompile_limit` (`cache_size_limit` before 2.6).

```python
for layer in model.layers:
    layer.compile(recompile_limit=9, isolate_recompiles=True)
```

## When not to

The instances differ in sizes of inputs alone: then see varying-dim.

## References

- `torch/__init__.py`, `compile` (`recompile_limit`, `isolate_recompiles`)
- [ComfyUI 8342](https://github.com/comfyanonymous/ComfyUI/issues/8342), [vllm 12410](https://github.com/vllm-project/vllm/issues/12410)
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Found, Rule, finding, on_module
from pgo_advisor.rules.code_object import CodeObject

_IDENTITY = (CauseKind.object_identity, CauseKind.object_type)
_SIZES = (CauseKind.tensor_size, CauseKind.int_value)
_DEFAULT_LIMIT = 8
"""`torch/_dynamo/config.py`, `recompile_limit`, from 2.0 (`cache_size_limit`) to 2.15."""


def _find(code: CodeObject) -> Iterator[Found]:
    graphs = max(code.plan.predictions[frame.key].compiles.low for frame in code.frames)
    allowed = next(iter(code.recompile_limits), _DEFAULT_LIMIT)
    fix = (
        f"{graphs} graphs are right, and within the limit of {allowed}."
        if graphs <= allowed
        else f"{graphs} graphs are right: raise the limit, {_limit(code.release, graphs)}, so that none falls back "
        "to eager."
    )
    return finding(
        RULE.id,
        code,
        (found for found in code.with_cause(*_SIZES, *_IDENTITY) if _of_instance(code, found[1])),
        lambda seen: (
            f"several instances or layers run the code of {code.name}; each needs its own graph"
        ),
        fix,
    )


def _of_instance(code: CodeObject, cause: Cause) -> bool:
    """Whether a part of the module is another one, or a parameter of it has another shape."""
    if not on_module(cause):
        return False
    return cause.kind in _IDENTITY or any(
        pair.source == cause.source and code.is_parameter(pair) for pair in code.varying
    )


def _limit(release: TorchRelease | None, graphs: int) -> str:
    """How the release raises the recompile limit; where it can, for one compile."""
    if release is None or not release.has(Capability.RECOMPILE_LIMIT_ARGUMENT):
        return f"torch._dynamo.config.recompile_limit = {graphs}"
    isolate = ", isolate_recompiles=True" if release.has(Capability.ISOLATE_RECOMPILES) else ""
    return f"torch.compile(…, recompile_limit={graphs}{isolate})"


RULE = Rule(
    "PGO301", "shared-code", __doc__, causes=(*_IDENTITY, CauseKind.tensor_size), find=_find
)
