"""A varying input is dynamic from the first compile on.

## What it does

Names the inputs that vary and need no declaration, since they have one.

## Why is this bad

It is not. The size was a symbol in the first compile: it is marked, stands in a list, `dynamic=True`
is set, or PyTorch found the PGO profile of an earlier run with the same job id.

## Example

```sh
TORCH_COMPILE_JOB_ID=exp1 python train.py  # the second run starts dynamic
```

## Use instead

Nothing. If it was a profile, a run without it recompiles. To see that, record with fresh caches, as
`record` does unless `TORCHINDUCTOR_CACHE_DIR` is set:

```sh
pgo-advisor record -- python train.py
```

## When not to

The size is pinned all the same: see pinned-dim.

## References

- `torch/_dynamo/pgo.py`, `get_code_state`
"""

from collections.abc import Iterator

from pgo_advisor.rules.base import Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    from_start = [
        pair
        for pair in code.varying
        if any(
            pair in code.plan.predictors[frame.key].observed.dynamic_from_start
            for frame in code.frames
        )
        or any(pair in call.marked for call in code.compiles)
    ]
    dynamic = [pair for pair in from_start if pair not in code.specialized]
    if dynamic:
        named = ", ".join(pair.words for pair in dynamic[:6])
        yield remark(
            RULE.id,
            code,
            f"Dynamic from the first compile on, by a mark, a list, dynamic=True or an earlier profile: {named}",
            "Nothing. If it was a profile of an earlier run (PGO), a run without that profile recompiles: record "
            "with fresh cache directories to see.",
        )


RULE = Rule("PGO602", "already-dynamic", __doc__, find=_find)
