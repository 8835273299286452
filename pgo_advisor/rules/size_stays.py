"""A size varies, and declaring it would save nothing.

## What it does

Finds recompiles for sizes alone that stay with these sizes declared dynamic.

## Why is this bad

The replay with this input declared dynamic gives as many compiles as without: each of these calls
needs a graph of its own for another reason as well.

## Example

```python
for x in (torch.ones(4), torch.ones(4, 5), torch.ones(6, 5)):
    f(x)  # after the change of rank all dims are dynamic anyway
```

## Use instead

Look at the other differences between the calls, which the evidence names.

```python
for x in (torch.ones(4, 1), torch.ones(4, 5), torch.ones(6, 5)):
    f(x)
```

## When not to

The trace has too little to tell: run the program with the entry and see.

## References

- [How compiles are predicted](../prediction.md)
"""

from collections.abc import Iterator, Mapping

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.replay.graphs import Objection
from pgo_advisor.report import Cause
from pgo_advisor.rules.base import Found, Rule, finding
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.rules.phrases import inputs

_SIZES = (CauseKind.tensor_size, CauseKind.int_value)


def _find(code: CodeObject) -> Iterator[Found]:
    found = [
        (recompile, recompile.causes[0])
        for recompile in code.recompiles
        if not recompile.removed and all(_declarable(code, cause) for cause in recompile.causes)
    ]
    return finding(
        RULE.id,
        code,
        found,
        lambda seen: (
            f"Declaring {inputs(seen)} is not predicted to save these compiles, though it varies"
        ),
        "Something else keeps the calls apart, as told below. Where that is in your code, change it; else pad to few "
        "sizes, or accept the graphs.",
        evidence=_apart(code, {recompile.compile: recompile.compile_id for recompile, _ in found}),
    )


def _declarable(code: CodeObject, cause: Cause) -> bool:
    """Whether it is a size or an int that a declaration could cure."""
    return (
        cause.kind in _SIZES
        and (cause.source, cause.dim) not in code.specialized
        and (cause.dim is None or not {"0", "1"} & {cause.expected, cause.actual})
    )


def _apart(code: CodeObject, ids: Mapping[int, str]) -> Iterator[str]:
    """What keeps these compiles from the graph before, by the replay with all declared that varies."""
    for frame in code.frames:
        replay = code.plan.predictors[frame.key]
        declared = code.plan.declaration.beside(code.plan.candidates[frame.key])
        prediction = replay.predict(declared)
        for call in frame.compiles:
            if call.key in ids and (why := replay.why_separate(prediction, call, declared)):
                yield f"[{ids[call.key]}] declared dynamic: {_words(why)}"


def _words(objection: Objection) -> str:
    match objection.kind:
        case "rank" | "stride":
            return "the tensors lie in memory in another way"
        case "size":
            what = objection.pair.words if objection.pair else ""
            return f"{what} is a constant there, {objection.expected} and not {objection.actual}"
        case "guard":
            return f"that graph requires {objection.guard}"
        case "decision":
            return f"a decision comes out otherwise: {objection.guard or 'another decision'}"
        case "inputs":
            more = ", …" if len(objection.sources) > 4 else ""
            return f"the code reads other inputs: {', '.join(objection.sources[:4])}{more}"
        case "path":
            return "the code goes another way"
        case "failed":
            return "one of the two compiles failed"
    return "something differs that is no size"


RULE = Rule("PGO203", "size-stays", __doc__, causes=_SIZES, find=_find)
