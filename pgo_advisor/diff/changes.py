"""Two recordings to what differs between them. Lines, sizes, ranks and seconds are no difference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from pgo_advisor.analysis import Analysis
from pgo_advisor.compare.functions import Again, Function, Signature, functions_of
from pgo_advisor.compare.match import pairs, unmatched
from pgo_advisor.compare.places import Checkout
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Part
from pgo_advisor.rules import RULES

_PHASES = {
    "Dynamo": "dynamo_seconds",
    "backend": "backend_seconds",
    "of it Inductor": "inductor_seconds",
    "of it generating code": "codegen_seconds",
    "backward": "backward_seconds",
}
_MAX_GUARDS = 20
Pair = tuple[Function | None, Function | None]
Told = TypeVar("Told")


class Side(Part, frozen=True):
    """One recording."""

    torch_version: str | None
    compiles: int
    """Of each function those of the process that has most, added up."""
    recompiles: int
    seconds: float
    """Of all compiles of all processes."""


class Change(Part, frozen=True):
    """Recompiles of a function that came, went, or have another cause."""

    count: int
    now: Signature | None
    """Null if they went."""
    was: Signature | None
    """Null if they came."""
    changed: str
    """What became of the input, as `8 → 12`; of several recompiles the first."""
    guard: str
    """PyTorch's reason."""
    file: str
    line: int
    """The line that brings it about, in the recording that has it."""
    code: str | None
    rule: str
    """Code of the rule, see pgo-advisor explain."""
    cure: str
    """What helps."""
    seconds: float


class FunctionChange(Part, frozen=True):
    """A function that is not as before."""

    name: str
    file: str
    line: int
    before: int | None
    """Compiles; null if the function was not compiled."""
    after: int | None
    changes: tuple[Change, ...]
    new_guards: tuple[str, ...]
    """Guards on sizes that only the second recording has, with the lines they come from."""


class Phase(Part, frozen=True):
    """Seconds of all compiles in a part of the work."""

    name: str
    before: float
    after: float


class Difference(Part, frozen=True):
    """What two recordings differ in."""

    before: Side
    after: Side
    same: bool
    """Whether nothing of `functions`, `new_advice` and `moot_advice` is there."""
    functions: tuple[FunctionChange, ...]
    """The changed ones; those that recompile more come first."""
    unchanged: tuple[str, ...]
    """Names of the others."""
    phases: tuple[Phase, ...]
    """The first is all of the work."""
    new_advice: tuple[str, ...]
    """What only the second recording gives reason for, in sentences."""
    moot_advice: tuple[str, ...]
    losses: tuple[str, ...] = ()
    """What of either recording could not be read, in sentences: so far it is not compared."""


def difference(before: Analysis, after: Analysis, checkout: Checkout) -> Difference:
    """Compares two recordings; `checkout` is where the second one's source is."""
    olds, news = functions_of(before, checkout), functions_of(after, checkout)
    matched = list(pairs(olds, news))
    guards = _guards(before), _guards(after)
    found = [(pair, _changes(pair, checkout)) for pair in matched]
    changed = [
        _function(pair, changes, guards, checkout)
        for pair, changes in found
        if changes or None in pair or _compiles(pair[0]) != _compiles(pair[1])
    ]
    old_advice, new_advice = _advice(before, matched, 0), _advice(after, matched, 1)
    moot, new = _only(old_advice, new_advice), _only(new_advice, old_advice)
    kept = [
        pair[1].shown
        for pair, changes in found
        if pair[1] and not changes and _compiles(pair[0]) == pair[1].compiles
    ]
    return Difference(
        before=_side(before, olds),
        after=_side(after, news),
        same=not (changed or moot or new),
        functions=tuple(sorted(changed, key=_growth)),
        unchanged=tuple(kept),
        phases=tuple(_phases(before, after)),
        new_advice=tuple(new),
        moot_advice=tuple(moot),
        losses=(*before.losses, *after.losses),
    )


def _compiles(function: Function | None) -> int | None:
    return None if function is None else function.compiles


def _growth(change: FunctionChange) -> int:
    return (change.before or 0) - (change.after or 0)


def _side(analysis: Analysis, functions: Sequence[Function]) -> Side:
    return Side(
        torch_version=analysis.torch_version,
        compiles=sum(function.compiles for function in functions),
        recompiles=sum(len(function.recompiles) for function in functions),
        seconds=analysis.totals.seconds,
    )


def _changes(pair: Pair, checkout: Checkout) -> list[Change]:
    old, new = pair
    went, came = unmatched(old.recompiles if old else (), new.recompiles if new else ())
    both = min(len(went), len(came))
    # of recompiles that went and came in one function, the cause has changed
    steps = [
        *zip(went[:both], came[:both], strict=True),
        *((None, again) for again in came[both:]),
        *((again, None) for again in went[both:]),
    ]
    alike: dict[Hashable, list[tuple[Again | None, Again | None]]] = {}
    for was, now in steps:
        key = was and was.signature, now and now.signature
        alike.setdefault(key, []).append((was, now))
    return [change for group in alike.values() for change in _change(group, checkout)]


def _change(
    group: Sequence[tuple[Again | None, Again | None]], checkout: Checkout
) -> Iterator[Change]:
    was, now = group[0]
    if shown := now or was:
        yield Change(
            count=len(group),
            now=now.signature if now else None,
            was=was.signature if was else None,
            changed=shown.changed,
            guard=shown.guard,
            file=checkout.shown(shown.place.file),
            line=shown.place.line,
            code=shown.place.code,
            rule=RULES[shown.rule].code,
            cure=shown.cure,
            seconds=sum(again.seconds for step in group if (again := step[1] or step[0])),
        )


Guards = dict[tuple[str, int], dict[str, str]]


def _guards(analysis: Analysis) -> Guards:
    """The installed guards on sizes of each function by its place, with the lines they come from."""
    places = {
        row["compile"]: (row["file"] or "", row["line"] or 0)
        for row in rows(analysis.tables.compiles)
    }
    found: Guards = {}
    for row in rows(analysis.tables.shape_guards):
        if row["installed"] and row["guard"]:
            where = f" ({row['user_code']})" if row["user_code"] else ""
            found.setdefault(places[row["compile"]], {})[row["guard"]] = f"{row['guard']}{where}"
    return found


def _function(
    pair: Pair, changes: Sequence[Change], guards: tuple[Guards, Guards], checkout: Checkout
) -> FunctionChange:
    old, new = pair
    function = new or old
    assert function  # noqa: S101
    new_guards: list[str] = []
    if old and new:
        known = guards[0].get((old.file, old.line), {})
        now = guards[1].get((new.file, new.line), {})
        new_guards = [text for guard, text in now.items() if guard not in known]
    return FunctionChange(
        name=function.shown,
        file=checkout.shown(function.file),
        line=function.line,
        before=_compiles(old),
        after=_compiles(new),
        changes=tuple(changes),
        new_guards=tuple(new_guards[:_MAX_GUARDS]),
    )


def _phases(before: Analysis, after: Analysis) -> Iterator[Phase]:
    yield Phase("all", before.totals.seconds, after.totals.seconds)
    for name, column in _PHASES.items():
        old, new = (float(analysis.tables.compiles[column].sum()) for analysis in (before, after))
        if old or new:
            yield Phase(name, old, new)


def _advice(analysis: Analysis, matched: Iterable[Pair], side: int) -> dict[Hashable, str]:
    """The advice and the findings in sentences, by what makes them the same in both recordings."""
    numbers = {pair[side]: n for n, pair in enumerate(matched)}
    ids = {function.id: (n, function.shown) for function, n in numbers.items() if function}
    told: dict[Hashable, str] = {}
    for item in analysis.advice:
        for number, name in (ids[id_] for id_ in item.frames if id_ in ids):
            where = item.source + ("" if item.dim is None else f" dim {item.dim}")
            code = RULES[item.rule].code
            told[number, item.pair] = f"Declare {where} of {name} dynamic ({code})."
    for found in analysis.findings:
        place = ids.get(next(iter(found.frames), ""))
        where = f"{place[1]}: " if place and place[1] not in found.summary else ""
        told[place and place[0], found.rule] = f"{where}{found.summary} ({RULES[found.rule].code})."
    return told


def _only(those: dict[Hashable, str], others: dict[Hashable, str]) -> list[str]:
    return [text for key, text in those.items() if key not in others]
