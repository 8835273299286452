"""An int that takes several values."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="varying-int",
    title="An int takes several values",
    causes=(CauseKind.int_value,),
    reason=(
        "An int that the compiled code reads is a constant of the first graph. After a second value it becomes "
        "a symbol by itself; in the list it is one from the start, 0 and 1 included."
    ),
    example="def f(x, offset):\n    return x.roll(offset)     # f(x, 1), f(x, 2), f(x, 3)",
    remedy="The entry in TORCH_COMPILE_DYNAMIC_SOURCES. mark_dynamic takes tensors only.",
    unless=(
        "The code needs the int as a constant (range(k), an index into a list, a size of a parameter): then "
        "there is a graph for each value whatever is declared, and the entry is not advised."
    ),
)
