"""A graph break has what follows it recompiled as well.

## What it does

Finds functions that break the graph, where what follows the break is recompiled.

## Why is this bad

At a break Dynamo ends the graph, lets Python go on, and compiles the rest as a function of its own
(`torch_dynamo_resume_in_f_at_7`). For another size both are compiled again. The rest is called from
compiled code, where no mark can stand: its inputs can only be declared by the list.

## Example

```python
@torch.compile
def step(x):
    y = x * 2
    print("step", y.shape)
    return (y + 1).cos()
```

## Use instead

Take out what breaks the graph, or move it to the function's end, so that one graph holds all.

```python
@torch.compile
def step(x):
    return (x * 2 + 1).cos()
```

## When not to

The break cannot be avoided: declare the inputs of both by the list.

## References

- [Graph breaks](https://docs.pytorch.org/docs/main/compile/programming_model.graph_breaks_index.html)
"""

from collections.abc import Iterator

from pgo_advisor.rules.base import Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    frames = [predictor.observed.frame for predictor in code.plan.predictors.values()]
    rest = [frame for frame in frames if any(frame.resumes(own) for own in code.frames)]
    recompiles = sum(len(frame.compiles) - 1 for frame in rest)
    if not recompiles:
        return
    calls = [*code.compiles, *(call for frame in rest for call in frame.compiles)]
    broken = {line: why for call in calls for line, why in call.broken_at.items()}
    # a break that is told again comes without the code on its line
    lines = {line.place: line for line in sorted(broken, key=lambda line: line.code or "")}
    yield remark(
        RULE.id,
        code,
        f"{code.name} breaks the graph: what follows is compiled for itself, and was recompiled "
        f"{recompiles} time{'s' if recompiles > 1 else ''}",
        "Take out what breaks the graph, or move it to the end. What follows a break is called from compiled code, "
        "so its inputs can be declared by the list alone.",
        evidence=broken.values(),
        lines=lines.values(),
    )


RULE = Rule("PGO303", "graph-break", __doc__, find=_find)
