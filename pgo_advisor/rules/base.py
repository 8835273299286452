"""What a rule is, and how it finds what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause, Finding, Recompile
from pgo_advisor.rules.code_object import CodeObject, brief


@dataclass(frozen=True)
class Rule:
    """A rule: its documentation, which `pgo-advisor explain` prints, and what finds it.

    `causes` are the kinds of causes that it answers. A rule with a `summary` finds them as they are, with that
    headline and `fix`; one with `find` looks closer. A rule with neither has advice for its result: the planner
    and `pgo_advisor.advice.advise` apply it.
    """

    id: str
    title: str
    causes: tuple[CauseKind, ...]
    reason: str
    example: str
    remedy: str
    unless: str
    summary: Callable[[CodeObject, list[Cause]], str] | None = None
    fix: str = ""
    find: Callable[[CodeObject], Iterable[Finding]] | None = None

    def findings(self, group: CodeObject) -> Iterable[Finding]:
        if self.find is not None:
            return self.find(group)
        if (summary := self.summary) is None:
            return ()
        found = group.with_cause(*self.causes)
        return finding(self.id, group, found, lambda seen: summary(group, seen), self.fix)


def finding(
    rule: str,
    group: CodeObject,
    causes: Iterable[tuple[Recompile, Cause]],
    summary: Callable[[list[Cause]], str],
    fix: str,
    evidence: Iterable[str] = (),
) -> Iterator[Finding]:
    """One finding for all the given causes of a group; none if there are none."""
    found = list(causes)
    if not found:
        return
    recompiles = {recompile.compile: recompile for recompile, _ in found}
    seen = [cause for _, cause in found]
    yield Finding(
        rule=rule,
        frames=(group.id,),
        summary=summary(seen),
        fix=fix,
        compiles=len(recompiles),
        seconds=sum(recompile.seconds for recompile in recompiles.values()),
        evidence=(*evidence, *_quoted(found)),
    )


def _quoted(found: list[tuple[Recompile, Cause]], most: int = 8) -> list[str]:
    """PyTorch's reasons, verbatim, first lines; where no reason names the cause, what changed."""
    texts = [
        f"[{recompile.compile_id}] " + (brief(cause.text) if cause.text else _seen(cause))
        for recompile, cause in found
    ]
    rest = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return texts[:most] + rest


def _seen(cause: Cause) -> str:
    what = " ".join(filter(None, [cause.kind.value, cause.where]))
    return f"{what}: {cause.change}" if cause.change else what


def sources(seen: Iterable[Cause], most: int = 4) -> str:
    """The sources that causes name, as a phrase."""
    names = list(dict.fromkeys(cause.source for cause in seen if cause.source))
    if not names:
        return "an input"
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def values(seen: Iterable[Cause], most: int = 6) -> str:
    """The values that causes tell of, as a phrase: `0.1, 0.2, 0.3`; empty if they tell none."""
    found = dict.fromkeys(
        value for cause in seen for value in (cause.expected, cause.actual) if value is not None
    )
    shown = ", ".join(list(found)[:most])
    return shown if len(found) <= most else f"{shown}, …"
