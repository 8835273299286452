"""A varying size is pinned by the compiled code.

## What it does

Finds recompiles for a size or an int that the compiled code turns into a constant.

## Why is this bad

While tracing, the symbol of this size was set to a constant: something in the code allows only one
value for each graph. No declaration helps; `mark_dynamic` raises ConstraintViolationError.

## Example

```python
SCALES = {16: 0.5, 32: 0.25}


@torch.compile
def f(x):
    return x * SCALES[x.shape[1]]
```

## Use instead

The evidence has the user's line. Change it, or bring the size to few values:

```python
SCALES = torch.linspace(0, 1, 64)


@torch.compile
def f(x):
    return x * SCALES.narrow(0, x.shape[1], 1)
```

## When not to

The pin is right and the sizes are few: raise the recompile limit to their number.

## References

- `torch/fx/experimental/symbolic_shapes.py`, `ConstraintViolationError`
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Claim, Found, Rule, finding, remark
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.phrases import changes
from pgo_advisor.rules.user_lines import pinning

_CAUSES = (CauseKind.tensor_size, CauseKind.int_value)
_FIX = (
    "Look at the line that pins it: a size that has to equal a parameter's, range(n), an index into a list, "
    "int(n), an operator without dynamic shapes. Change it, or pad to few sizes."
)


def _find(code: CodeObject) -> Iterator[Found]:
    found = [
        (recompile, cause)
        for recompile, cause in code.with_cause(*_CAUSES)
        if (cause.source, cause.dim) in code.specialized
    ]
    yield from finding(RULE.id, code, found, _summary, _FIX, lines=pinning)
    yield from _without_recompile(code, {cause.where for _, cause in found})


def _without_recompile(code: CodeObject, told: set[str]) -> Iterator[Found]:
    """What an error says is pinned, or a text on symbols that tells no reasons; else the recompiles show it."""
    unexplained = any(code.with_cause(CauseKind.not_in_text))
    failed = [call for call in code.compiles if call.outcome == "failed" and call.pinned_to]
    pinned = [
        cause
        for call in failed or (code.compiles if unexplained else ())
        for pair, value in call.pinned_to.items()
        if (cause := _pinned(pair, value)).where not in told
    ]
    if pinned:
        marked = (
            "mark_dynamic raises for it: use maybe_mark_dynamic, or no mark. " if failed else ""
        )
        keys = {call.key for call in failed}
        yield remark(
            RULE.id,
            code,
            _summary(pinned),
            marked + _FIX,
            evidence=(call.failure for call in failed if call.failure),
            lines=(line for cause in pinned for line in pinning(code, cause)),
            claims={
                recompile.compile: Claim.last(recompile)
                for recompile in code.recompiles
                if recompile.compile in keys
            },
        )


def _pinned(pair: SourceDim, value: str) -> Cause:
    kind = CauseKind.int_value if pair.dim is None else CauseKind.tensor_size
    return Cause(kind, pair.source, pair.dim, expected=value)


def _summary(seen: list[Cause]) -> str:
    return f"The code turns {changes(seen, dims=True)} into a constant, whatever is declared"


RULE = Rule("PGO201", "pinned-dim", __doc__, causes=_CAUSES, find=_find)
