"""An int takes several values.

## What it does

Advises to put ints into the list of dynamic sources that vary, where that saves compiles.

## Why is this bad

An int that the compiled code reads is a constant of the first graph. After a second value it
becomes a symbol by itself. In the list it is one from the start, 0 and 1 included.

## Example

```python
@torch.compile
def f(x, offset):
    return x.roll(offset)


for offset in (1, 2, 3):
    f(x, offset)
```

## Use instead

The entry in `TORCH_COMPILE_DYNAMIC_SOURCES`. `mark_dynamic` takes tensors only.

```sh
export TORCH_COMPILE_DYNAMIC_SOURCES="L['offset']"
```

## When not to

The code needs the int as a constant (`range(k)`, an index into a list, a size of a parameter):
then there is a graph for each value whatever is declared, and the entry is not advised.

## References

- `torch/_dynamo/variables/builder.py`, `wrap_symint`
"""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule("PGO102", "varying-int", __doc__, causes=(CauseKind.int_value,))
