"""Ranks of one job compile at different times.

## What it does

Finds code that some ranks of a job compile more often than others.

## Why is this bad

Each rank sees its own sizes and recompiles by itself; at the next collective all others wait for it,
up to a time-out.

## Example

```python
for batch in loader:  # rank 3 meets a longer sequence than before, in step 1,712
    model(batch)
```

## Use instead

Declare the union of what varies on any rank, on every rank. Or let ranks agree on what is dynamic:

```python
torch._dynamo.config.enable_compiler_collectives = True
```

## When not to

The ranks run different parts of the model (pipeline parallel).

## References

- `torch/_dynamo/config.py`, `enable_compiler_collectives`
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from pgo_advisor.report import Recompile, runs_in_words
from pgo_advisor.rules.base import Claim, Found, Rule, remark
from pgo_advisor.rules.code_object import CodeObject


def _find(code: CodeObject) -> Iterator[Found]:
    by_rank = _compiles_by_rank(code)
    alike: dict[int, list[int]] = defaultdict(list)
    for rank, compiles in by_rank.items():
        alike[compiles].append(rank)
    if len(alike) < 2:
        return
    most, least = max(alike), min(alike)
    yield remark(
        RULE.id,
        code,
        f"Ranks disagree on {code.name}: {most} compiles on rank {alike[most][0]}, {least} on "
        f"rank {alike[least][0]}, so the others wait for it",
        "The advice is for all ranks together: set it on each. "
        "torch._dynamo.config.enable_compiler_collectives = True lets ranks agree on what is dynamic.",
        evidence=(
            f"{compiles} compiles: {runs_in_words(sorted(alike[compiles]), 'rank')}"
            for compiles in sorted(alike, reverse=True)[:16]
        ),
        claims={
            recompile.compile: Claim.last(recompile)
            for rank, compiles in by_rank.items()
            for recompile in _last(code, rank, compiles - least)
        },
    )


def _last(code: CodeObject, rank: int, number: int) -> list[Recompile]:
    own = [recompile for recompile in code.recompiles if recompile.rank == rank]
    return own[len(own) - number :]


def _compiles_by_rank(code: CodeObject) -> Counter[int]:
    """Of the ranks whose logs do not end within a compile: such a log tells nothing of what came then.

    Of several logs of one rank, as of a restart or a copy, the longest.
    """
    by_log: Counter[tuple[int, int]] = Counter()
    for frame in code.frames:
        if frame.rank is not None and not any(call.outcome == "unknown" for call in frame.compiles):
            by_log[frame.rank, frame.log] += len(frame.compiles)
    found: Counter[int] = Counter()
    for (rank, _), compiles in by_log.items():
        found[rank] = max(found[rank], compiles)
    return found


RULE = Rule("PGO601", "ranks-disagree", __doc__, find=_find)
