"""What a rule is, and how it finds what it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import is_of_module
from pgo_advisor.report import Cause, Finding, Recompile, UserLine
from pgo_advisor.rules.code_object import CodeObject, brief
from pgo_advisor.rules.user_lines import stated

_MAX_LINES = 16


class Claim(NamedTuple):
    """That a finding brought a recompile about."""

    order: int
    """How many of the recompile's causes come before that of the finding."""
    seconds: float

    @classmethod
    def last(cls, recompile: Recompile) -> Claim:
        """One that gives way to each finding of a cause."""
        return cls(len(recompile.causes), recompile.seconds)


@dataclass(frozen=True)
class Found:
    """A finding without its cost, and the recompiles that it would count, by the keys of the compiles."""

    finding: Finding
    claims: Mapping[int, Claim] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """A rule.

    `page` is the docstring of its module: a title, then sections in the order of ruff's rules. `causes` are the
    kinds of causes that it answers. A rule with a `summary` finds them, as far as it `concerns` them, with that
    headline and `fix`; one with `find` looks for itself. A rule with neither has advice for its result: the
    planner and `pgo_advisor.advice.advise` apply it.
    """

    code: str
    """`PGO105`: stays, whatever becomes of the name."""
    id: str
    """Its name, as the JSON has it: `zero-one`."""
    page: str
    causes: tuple[CauseKind, ...] = ()
    concerns: Callable[[CodeObject, Cause], bool] = lambda code, cause: True
    summary: Callable[[CodeObject, list[Cause]], str] | None = None
    fix: str = ""
    lines: Callable[[CodeObject, Cause], Iterable[UserLine]] = stated
    """Where the user's code brings a cause about."""
    find: Callable[[CodeObject], Iterable[Found]] | None = None

    @property
    def title(self) -> str:
        """The first line of its page, without the period."""
        return self.page.partition("\n")[0].rstrip(".")

    @property
    def sections(self) -> dict[str, list[str]]:
        """Its page by heading: text and code in turn, text first."""
        told = (part.partition("\n") for part in self.page.strip().split("\n## ")[1:])
        return {
            heading: [part.strip("\n") for part in re.split(r"```\w*\n(.*?)```", text, flags=re.S)]
            for heading, _, text in told
        }

    def findings(self, code: CodeObject) -> Iterable[Found]:
        """What it finds in a code object."""
        if self.find is not None:
            return self.find(code)
        if (summary := self.summary) is None:
            return ()
        causes = (
            (recompile, cause)
            for recompile, cause in code.with_cause(*self.causes)
            if self.concerns(code, cause)
        )
        return finding(
            self.id, code, causes, lambda seen: summary(code, seen), self.fix, lines=self.lines
        )


def finding(
    rule: str,
    code: CodeObject,
    causes: Iterable[tuple[Recompile, Cause]],
    summary: Callable[[list[Cause]], str],
    fix: str,
    evidence: Iterable[str] = (),
    lines: Callable[[CodeObject, Cause], Iterable[UserLine]] = stated,
) -> Iterator[Found]:
    """One finding for all the given causes of a code object; none if there are none."""
    found = list(causes)
    if not found:
        return
    seen = [cause for _, cause in found]
    claims: dict[int, Claim] = {}
    for recompile, cause in found:
        claim = Claim(recompile.causes.index(cause), recompile.seconds)
        claims[recompile.compile] = min(claim, claims.get(recompile.compile, claim))
    yield remark(
        rule,
        code,
        summary(seen),
        fix,
        evidence=(*evidence, *_quoted(found)),
        lines=(line for cause in seen for line in lines(code, cause)),
        claims=claims,
    )


def remark(
    rule: str,
    code: CodeObject,
    summary: str,
    fix: str,
    *,
    evidence: Iterable[str] = (),
    lines: Iterable[UserLine] = (),
    claims: Mapping[int, Claim] | None = None,
) -> Found:
    """A finding; without `claims` one that no recompile is due to."""
    return Found(
        Finding(
            rule=rule,
            frames=(code.id,),
            summary=summary,
            fix=fix,
            compiles=0,
            seconds=0.0,
            evidence=tuple(dict.fromkeys(evidence)),  # ranks that compiled alike give the same
            lines=tuple(dict.fromkeys(lines))[:_MAX_LINES],
        ),
        claims or {},
    )


def _quoted(found: list[tuple[Recompile, Cause]], most: int = 8) -> list[str]:
    """PyTorch's reasons, verbatim, first lines; where no reason names the cause, what changed."""
    texts = [
        f"[{recompile.compile_id}] " + (brief(cause.text) if cause.text else _seen(cause))
        for recompile, cause in found
        if cause.text or cause.where or cause.change
    ]
    rest = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return texts[:most] + rest


def _seen(cause: Cause) -> str:
    what = " ".join(filter(None, [cause.kind.value, cause.where]))
    return f"{what}: {cause.change}" if cause.change else what


def on_module(cause: Cause) -> bool:
    """Whether it is of something on the module whose method is compiled."""
    return is_of_module(cause.source or "")
