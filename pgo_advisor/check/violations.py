"""What of a recording goes beyond the budgets."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from pgo_advisor.analysis import Analysis
from pgo_advisor.check.budgets import CAUSES, Budgets, matches
from pgo_advisor.compare.functions import Again, Function, Signature
from pgo_advisor.render.text import count
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Part, UserLine
from pgo_advisor.report.base import listed
from pgo_advisor.rules import RULES, Rule

NEW = "new-recompile"
Item = tuple[Function, Again]
"""A recompile, and the function that it is of."""


class Violation(Part, frozen=True):
    """Something that is too much."""

    rule: str
    """Code of a rule, as `PGO101`, or name of a budget, as `max-recompiles`."""
    message: str
    cure: str
    """What helps, a sentence; may be empty."""
    place: UserLine | None
    function: str
    """Name of the function; empty where it is about the whole run."""
    file: str
    """File of the function, as recorded."""
    seconds: float
    about: str
    """What tells it from others of the same rule and function, without lines, sizes and times."""

    def fingerprint(self, file: str) -> str:
        """The same as long as the rule, the file, the function and the cause are, whatever the line."""
        told = "\0".join((self.rule, file, self.function, self.about))
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:32]


class Checked(Part, frozen=True):
    """The outcome of a check."""

    violations: tuple[Violation, ...]
    """The most expensive first."""
    held: tuple[str, ...]
    """Names of the checks that found nothing."""
    notes: tuple[str, ...]
    """What the reader has to know of the check, in sentences."""


def considered(functions: Iterable[Function], budgets: Budgets) -> tuple[Function, ...]:
    """The functions that are not ignored, without recompiles that are ignored or expected."""
    return tuple(
        replace(
            function,
            recompiles=tuple(
                again
                for again in function.recompiles
                if not budgets.ignores_rule(RULES[again.rule])
                and not budgets.expects_static(again.signature, *_names(function))
            ),
        )
        for function in functions
        if not budgets.ignores_function(*_names(function))
    )


def check(
    analysis: Analysis,
    functions: Sequence[Function],
    budgets: Budgets,
    new: Sequence[Item] | None = None,
) -> Checked:
    """Compares the `considered` functions of a recording with the budgets.

    `new` are the recompiles that a baseline does not have.
    """
    again = [(function, item) for function in functions for item in function.recompiles]
    found: dict[str, list[Violation]] = {}
    if new is not None:
        found["baseline"] = grouped(new, NEW, "new recompile")
    elif not budgets.is_set:
        found["recompiles"] = grouped(again)
    found |= _totals(analysis, again, budgets)
    if budgets.max_graphs:
        found["max-graphs"] = list(_graphs(functions, budgets))
    hit = [item for item in again if item[1].signature.cause in CAUSES["limit"]]
    if budgets.no_limit_hit:
        found["no-limit-hit"] = grouped(hit, "no-limit-hit")
    if budgets.no_eager_fallback:
        rule = "no-eager-fallback"
        found[rule] = [*grouped(hit, rule), *_failed(analysis, functions, rule)]
    if budgets.select:
        found["select"] = grouped(item for item in again if budgets.selects(_rule(item)))
        found["select"] += _remarks(analysis, functions, budgets)
    violations = [item for items in found.values() for item in items]
    return Checked(
        violations=tuple(sorted(violations, key=lambda item: -item.seconds)),
        held=tuple(name for name, items in found.items() if not items),
        notes=tuple(_unused(functions, budgets)),
    )


_MAX_CHANGES = 4


def _rule(item: Item) -> Rule:
    return RULES[item[1].rule]


def grouped(items: Iterable[Item], rule: str = "", what: str = "recompile") -> list[Violation]:
    """One for each function and cause."""
    alike: dict[tuple[str, Signature], list[Item]] = {}
    for function, again in items:
        alike.setdefault((function.id, again.signature), []).append((function, again))
    return [_alike(group, rule, what) for group in alike.values()]


def _alike(items: Sequence[Item], rule: str, what: str) -> Violation:
    function, again = items[0]
    changes = list(dict.fromkeys(item.changed for _, item in items if item.changed))
    changed = f" ({listed(changes, _MAX_CHANGES, ', …')})" if changes else ""
    code = _rule(items[0]).code
    named = f" {code}" if rule else ""
    return Violation(
        rule=rule or code,
        message=f"{function.shown}: {count(len(items), what)}{named}: {again.signature}{changed}",
        cure=again.cure,
        place=again.place,
        function=function.shown,
        file=function.file,
        seconds=sum(item.seconds for _, item in items),
        about=str(again.signature),
    )


def _totals(
    analysis: Analysis, again: Sequence[Item], budgets: Budgets
) -> Iterator[tuple[str, list[Violation]]]:
    """The budgets of the whole run."""
    for cause, most in budgets.recompiles.items():
        counts = [
            item for item in again if cause == "all" or item[1].signature.cause in CAUSES[cause]
        ]
        name = "max-recompiles" if cause == "all" else f"max-recompiles-{cause}"
        what = "recompiles" if cause == "all" else f"recompiles for {cause}"
        told = f"{len(counts)} {what}, {most} allowed"
        yield name, [_whole(name, told, counts)] if len(counts) > most else []
    if (seconds := budgets.max_compile_seconds) is not None:
        by_log: dict[int, float] = defaultdict(float)
        for row in rows(analysis.tables.compiles):
            by_log[row["log"]] += row["seconds"] or 0.0
        took = max(by_log.values(), default=0.0)
        told = f"compiling took {took:.1f} s, {seconds:g} s allowed"
        name = "max-compile-seconds"
        yield name, [_whole(name, told, again)] if took > seconds else []


def _whole(rule: str, message: str, again: Sequence[Item]) -> Violation:
    """Shown where the most expensive recompile comes from."""
    worst = max(again, key=lambda item: item[1].seconds, default=None)
    by_function = Counter(function.shown for function, _ in again)
    most = ", ".join(f"{name} {number}" for name, number in by_function.most_common(3))
    return Violation(
        rule=rule,
        message=message + (f" ({most}{', …' if len(by_function) > 3 else ''})" if most else ""),
        cure=worst[1].cure if worst else "",
        place=worst[1].place if worst else None,
        function="",
        file="",
        seconds=sum(item.seconds for _, item in again),
        about="",
    )


def _graphs(functions: Iterable[Function], budgets: Budgets) -> Iterator[Violation]:
    for pattern, most in budgets.max_graphs.items():
        for function in functions:
            if matches(pattern, *_names(function)) and function.graphs > most:
                causes = Counter(str(item.signature) for item in function.recompiles)
                why = "; ".join(f"{name} {number}x" for name, number in causes.most_common(3))
                last = function.recompiles[-1] if function.recompiles else None
                yield Violation(
                    rule="max-graphs",
                    message=f"{function.shown}: {function.graphs} graphs, {most} allowed"
                    + (f" ({why})" if why else ""),
                    cure=last.cure if last else "",
                    place=last.place if last else UserLine(function.file, max(1, function.line)),
                    function=function.shown,
                    file=function.file,
                    seconds=sum(item.seconds for item in function.recompiles),
                    about=pattern,
                )


def _failed(analysis: Analysis, functions: Iterable[Function], rule: str) -> Iterator[Violation]:
    """Functions whose compiles ended with an exception."""
    failed: dict[tuple[str, int], str] = {}
    for row in rows(analysis.tables.compiles):
        if row["outcome"] == "failed":
            place = row["file"] or "", row["line"] or 0
            failed.setdefault(place, row["fail_type"] or "an exception")
    for function in functions:
        if error := failed.get((function.file, function.line)):
            yield _of_function(
                rule,
                function,
                f"{function.shown}: it was not compiled: {error}",
                "Mend what the exception names: pgo-advisor explain failed-compile.",
            )


def _remarks(
    analysis: Analysis, functions: Iterable[Function], budgets: Budgets
) -> Iterator[Violation]:
    """What selected rules found that is no recompile."""
    by_id = {function.id: function for function in functions}
    for found in analysis.findings:
        rule = RULES[found.rule]
        if not found.compiles and budgets.selects(rule):
            for name in found.frames[:1]:
                if name in by_id:
                    yield _of_function(rule.code, by_id[name], found.summary, found.fix)


def _of_function(rule: str, function: Function, message: str, cure: str) -> Violation:
    return Violation(
        rule=rule,
        message=message,
        cure=cure,
        place=UserLine(function.file, max(1, function.line)),
        function=function.shown,
        file=function.file,
        seconds=0.0,
        about="",
    )


def _names(function: Function) -> tuple[str, str]:
    return function.shown, function.name


def _unused(functions: Iterable[Function], budgets: Budgets) -> Iterator[str]:
    """Patterns that say nothing, as after a function was renamed."""
    names = {name for function in functions for name in _names(function)}
    for pattern in budgets.max_graphs:
        if not matches(pattern, *names):
            known = listed(sorted(names), 8, ", …")
            yield f"max-graphs: no compiled function is called {pattern!r}; there are: {known}"
