"""A difference for a terminal, and the phrases that its renderings share."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.diff.changes import Change, Difference, FunctionChange
from pgo_advisor.render.text import count, duration, one_line

_MOST = 200
"""Changed functions, and sentences of advice, that are shown."""


def headline(told: Difference) -> str:
    """`1 → 4 compiles, 0 → 3 recompiles`, or that there is no difference."""
    before, after = told.before, told.after
    if told.same:
        return f"No difference: {count(after.compiles, 'compile')}, {count(after.recompiles, 'recompile')}"
    return (
        f"{before.compiles} → {after.compiles} compiles, "
        f"{before.recompiles} → {after.recompiles} recompiles"
    )


def releases(told: Difference) -> str:
    """`PyTorch 2.13.0 → 2.15.0`; empty if both have the same."""
    old, new = told.before.torch_version, told.after.torch_version
    return "" if old == new else f"PyTorch {old or 'not known'} → {new or 'not known'}"


def seconds(told: Difference) -> str:
    """`Compiling took 120 ms → 500 ms (Dynamo 100 ms → 400 ms).`; empty where no record has seconds."""
    (_, *parts) = told.phases
    if not (told.before.seconds or told.after.seconds):
        return ""
    inner = ", ".join(f"{each.name} {_took(each.before)} → {_took(each.after)}" for each in parts)
    whole = f"{_took(told.before.seconds)} → {_took(told.after.seconds)}"
    return f"Compiling took {whole}{f' ({inner})' if inner else ''}."


def _took(value: float) -> str:
    return duration(value) if value else "0 s"


def compiles(change: FunctionChange) -> str:
    """`1 → 4 compiles`, `new, 4 compiles`, `no longer compiled`."""
    if change.after is None:
        return "no longer compiled"
    if change.before is None:
        return f"new, {count(change.after, 'compile')}"
    return f"{change.before} → {change.after} compiles"


def phrase(change: Change) -> str:
    """`3 recompiles came: int-value L['self'].step (0 → 1)`."""
    number = count(change.count, "recompile")
    changed = f" ({change.changed})" if change.changed else ""
    if change.was and change.now:
        return f"{number} for another cause: {change.was} became {change.now}{changed}"
    verb = "came" if change.now else "went"
    return f"{number} {verb}: {change.now or change.was}{changed}"


def render_text(told: Difference) -> str:
    """What came and why, function by function, then the advice."""
    return "".join(f"{line}\n" for line in _lines(told))


def _lines(told: Difference) -> Iterator[str]:
    yield f"{headline(told)}."
    yield from filter(None, [one_line(releases(told), 200), seconds(told)])
    yield from (f"Lost: {one_line(loss, 400)}" for loss in told.losses[:_MOST])
    for change in told.functions[:_MOST]:
        yield ""
        place = f"{one_line(change.file, 200)}:{change.line}"
        yield f"{one_line(change.name, 120)}  {place}  {compiles(change)}"
        for item in change.changes:
            yield from _change(item)
        yield from (f"    new guard: {one_line(guard, 300)}" for guard in change.new_guards)
    for title, advice in (("New advice", told.new_advice), ("No longer needed", told.moot_advice)):
        if advice:
            yield f"\n{title}"
            yield from (f"  {one_line(text, 400)}" for text in advice[:_MOST])
    if not told.same and told.unchanged:
        yield f"\n{count(len(told.unchanged), 'other function')} as before."
    more = len(told.functions) - _MOST
    if more > 0:
        yield f"\nAnd {count(more, 'more changed function')}: --json has them."


def _change(item: Change) -> Iterator[str]:
    sign = "~" if item.was and item.now else "+" if item.now else "-"
    yield f"  {sign} {one_line(phrase(item), 400)}"
    if item.now:
        if item.guard:
            yield f"    guard: {one_line(item.guard, 300)}"
        code = f" | {one_line(item.code, 300)}" if item.code else ""
        yield f"    {one_line(item.file, 200)}:{item.line}{code}"
        yield f"    help: {one_line(item.cure, 900)} ({item.rule})"
