"""Two sizes were equal when a graph was made, and differ later.

## What it does

Finds recompiles for sizes of which a graph requires that they are equal.

## Why is this bad

Sizes with the same value at the first dynamic compile can get one symbol (duck sizing, with
`dynamic=True`), or an operation such as `x + w` requires them to be equal. The graph then guards on
equality.

## Example

```python
f = torch.compile(f, dynamic=True)
f(torch.ones(4), torch.ones(4))
f(torch.ones(5), torch.ones(6))
```

## Use instead

Declare both: each gets a symbol of its own. Or warm up with unequal sizes.

```python
f = torch.compile(f, dynamic=True)
f(torch.ones(4), torch.ones(3))
f(torch.ones(5), torch.ones(6))
```

## When not to

The code requires equality: then the calls do different things, and two graphs are right.

## References

- `torch/fx/experimental/_config.py`, `use_duck_shape`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule
from pgo_advisor.rules.phrases import inputs

RULE = Rule(
    "PGO205",
    "equal-dims",
    __doc__,
    causes=(CauseKind.equal_dims,),
    summary=lambda code, seen: (
        f"A graph took sizes to be equal that differ in a later call: {inputs(seen)}"
    ),
    fix="If it is chance: declare both, warm up with unequal sizes, or set "
    "torch.fx.experimental._config.use_duck_shape = False. If the code needs them equal, both kinds of calls "
    "need graphs of their own.",
)
