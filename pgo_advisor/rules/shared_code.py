"""Layers or instances share one code object.

## What it does

Finds recompiles for another instance of a module that runs the same code, and tells how many graphs
are right.

## Why is this bad

All instances of a class run the same `forward`, and PyTorch keeps graphs, and counts recompiles, by
code object. Layers of different widths, or with different submodules, need as many graphs as there
are kinds of them, though nothing varies within one.

Functions that are PyTorch's own, as `torch.nn.functional.gelu`, and modules of `torch.nn` are compiled
by way of one wrapper, `inner` in `torch/_dynamo/external_utils.py`. So they share its code, wherever they
are compiled.

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

- `torch/_dynamo/external_utils.py`, `wrap_inline`
- `torch/__init__.py`, `compile` (`recompile_limit`, `isolate_recompiles`)
- [ComfyUI 8342](https://github.com/comfyanonymous/ComfyUI/issues/8342), [vllm 12410](https://github.com/vllm-project/vllm/issues/12410)
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause, UserLine
from pgo_advisor.rules.base import Found, Rule, finding, on_module
from pgo_advisor.rules.code_object import CodeObject, is_of_another_class
from pgo_advisor.rules.limits import DEFAULT_LIMIT, raised
from pgo_advisor.rules.object_classes import made_anew
from pgo_advisor.rules.user_lines import stated

_IDENTITY = (CauseKind.object_identity, CauseKind.object_type)
_SIZES = (CauseKind.tensor_size, CauseKind.int_value)


def _find(code: CodeObject) -> Iterator[Found]:
    anew = made_anew(code)
    found = [
        (recompile, cause)
        for recompile, cause in code.with_cause(*_SIZES, *_IDENTITY)
        if _of_instance(code, cause) and cause.source not in anew
    ]
    other_classes = any(is_of_another_class(cause) for _, cause in found)
    fix = _DEFINED_ANEW if other_classes else ""
    return finding(
        RULE.id,
        code,
        found,
        lambda seen: _summary(code, other_classes),
        fix + _fix(code),
        lines=_lines,
    )


_DEFINED_ANEW = "If it is one class that is defined anew for each instance, define it once: else any limit is hit again. "


def _summary(code: CodeObject, other_classes: bool) -> str:
    if code.is_wrapper:
        return (
            "functions that are compiled at different places share the code of PyTorch's wrapper "
            f"{code.name}; each needs its own graph"
        )
    if other_classes:
        return f"instances of several classes run the code of {code.name}; each class needs its own graph"
    return f"several instances or layers run the code of {code.name}; each needs its own graph"


def _fix(code: CodeObject) -> str:
    if any(frame.has_unseen for frame in code.frames):
        return (
            "As many graphs as instances of different kinds are right, which the text does not tell. If they are "
            f"more than the limit, raise it: {raised(code.release, 'N')}."
        )
    graphs = max(code.plan.predictions[frame.key].compiles.low for frame in code.frames)
    allowed = next(iter(code.limits()), DEFAULT_LIMIT)
    if graphs <= allowed:
        return f"{graphs} graphs are right, and within the limit of {allowed}."
    return (
        f"{graphs} graphs are right: raise the limit, {raised(code.release, graphs)}, so that none falls back "
        "to eager."
    )


def _lines(code: CodeObject, cause: Cause) -> Iterator[UserLine]:
    if code.is_wrapper:
        yield from (call.called_at for call in code.compiles if call.called_at)
    else:
        yield from stated(code, cause)


def _of_instance(code: CodeObject, cause: Cause) -> bool:
    """Whether a part of the module is another one, or a parameter of it has a shape that stays static."""
    if not (on_module(cause) or code.of_another_function(cause)):
        return False
    return cause.kind in _IDENTITY or any(
        pair.source == cause.source and code.is_parameter(pair) and pair not in code.planned
        for pair in code.varying
    )


RULE = Rule(
    "PGO301", "shared-code", __doc__, causes=(*_IDENTITY, CauseKind.tensor_size), find=_find
)
