"""The code, or PyTorch, decides by a size.

## What it does

Finds recompiles for a dynamic size that is on another side of a decision than that of the graph.

## Why is this bad

A branch, an assert, a view that needs divisibility, or an operator that handles small and large sizes
differently makes a guard on the symbol. Each side that is taken is a graph of its own, also when the
dim is declared dynamic. `mark_dynamic` raises if such a guard narrows the range; `maybe_mark_dynamic`
does not.

## Example

```python
@torch.compile
def f(x):
    if x.shape[0] > 16:
        return x + 1
    return x * 2
```

## Use instead

Take the decision out of the compiled function, or pad so that all calls take the same side. Else
accept one graph for each outcome.

```python
large, small = torch.compile(lambda x: x + 1), torch.compile(lambda x: x * 2)


def f(x):
    return large(x) if x.shape[0] > 16 else small(x)
```

## When not to

Unbacked sizes are no way out: the branch becomes a graph break, and so more graphs.

## References

- `torch/fx/experimental/symbolic_shapes.py`, `produce_guards_verbose`
"""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Found, Rule, finding
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.phrases import inputs
from pgo_advisor.rules.user_lines import deciding

_CAUSES = (CauseKind.symbolic_range, CauseKind.divisibility, CauseKind.symbolic_relation)


def _find(code: CodeObject) -> Iterator[Found]:
    return finding(
        RULE.id,
        code,
        code.with_cause(*_CAUSES),
        lambda seen: f"The code decides by {inputs(seen)}: one graph for each outcome",
        "As many graphs as outcomes are right. To have fewer, take the branch out of the compiled function, or "
        "pad so that all calls take the same one.",
        lines=deciding,
    )


RULE = Rule("PGO202", "size-branch", __doc__, causes=_CAUSES, find=_find)
