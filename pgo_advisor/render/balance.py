"""What compiling cost in parts: what is needed, what the advice removes for sure or perhaps, what stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.answer import Case, case
from pgo_advisor.render.text import cost, count, duration
from pgo_advisor.report import Finding, FrameReport, Recompile, Report, Verdict

LIMIT, FAILED = "recompile-limit", "failed-compile"


class Fate(str, Enum):
    """What the advice does to a compile; each has one color wherever it is drawn."""

    needed = "needed"
    """The first compile of a function."""
    goes = "goes"
    may_go = "may go"
    """The prediction for its function is a range."""
    stays = "stays"

    @property
    def css(self) -> str:
        return self.value.replace(" ", "-")


class Balance(NamedTuple):
    """Seconds of all compiles; their number where the record has no durations."""

    needed: float
    least: float
    """Removed by the advice at the least."""
    uncertain: float
    """What it may remove beyond that."""
    stays: float
    timed: bool

    @property
    def most(self) -> float:
        return self.least + self.uncertain

    def told(self, amount: float) -> str:
        return duration(amount) if self.timed else count(round(amount), "compile")


def fate(recompile: Recompile | None, frame: FrameReport | None) -> Fate:
    """What becomes of a compile; `recompile` is None for the first one of a function."""
    if recompile is None:
        return Fate.needed
    exact = frame is None or frame.predicted.exact
    if recompile.removed:
        return Fate.goes if exact else Fate.may_go
    cause = recompile.causes[0].kind if recompile.causes else None
    if cause is CauseKind.recompile_limit and frame and frame.verdict is Verdict.marking_helps:
        # The call that hit the limit compiles nothing once the compiles before it are gone.
        return Fate.may_go
    return Fate.stays


def balance(report: Report) -> Balance:
    """The parts of `report.totals.seconds`."""
    timed = bool(report.totals.seconds)
    frames = {frame.id: frame for frame in report.frames}
    parts: dict[Fate, float] = defaultdict(float)
    perhaps: dict[str, list[float]] = defaultdict(list)
    for recompile in report.recompiles:
        amount = recompile.seconds if timed else 1.0
        found = fate(recompile, frames.get(recompile.frame))
        parts[found] += amount
        if found is Fate.may_go:
            perhaps[recompile.frame].append(amount)
    least = sum(_least(frames[name], amounts) for name, amounts in perhaps.items())
    whole = report.totals.seconds if timed else report.totals.compiles
    return Balance(
        max(0.0, whole - sum(parts.values())),
        parts[Fate.goes] + least,
        parts[Fate.may_go] - least,
        parts[Fate.stays],
        timed,
    )


def _least(frame: FrameReport, amounts: list[float]) -> float:
    """The cheapest of these compiles, as many as go in the worst case."""
    high = frame.predicted.high
    return 0.0 if high is None else sum(sorted(amounts)[: max(0, frame.compiles - high)])


class Severe(NamedTuple):
    """What is worse than a recompile, in words without recorded text, and the findings that tell of it."""

    words: str
    findings: list[Finding]


def severe(report: Report) -> Iterator[Severe]:
    """Functions that run uncompiled since the limit was hit, and compiles that failed."""
    for rule, words in (
        (LIMIT, "The recompile limit was hit: {} uncompiled from then on"),
        (FAILED, "A compile failed with an exception: {} uncompiled there"),
    ):
        if found := [finding for finding in report.findings if finding.rule == rule]:
            functions = len({name for finding in found for name in finding.frames})
            run = f"{count(functions, 'function')} run{'s' if functions == 1 else ''}"
            cured = " The advice may cure it." if all(cures(report, one) for one in found) else ""
            yield Severe(f"{words.format(run)}.{cured}", found)


def cures(report: Report, finding: Finding) -> bool:
    """Whether it is that the limit was hit, and the advice has fewer compiles in each of its functions."""
    helped = {f.id for f in report.frames if f.verdict is Verdict.marking_helps}
    return finding.rule == LIMIT and helped.issuperset(finding.frames)


def headline(report: Report, parts: Balance) -> str:
    """`Save 1.4 of 2.8 s of compiling: 4 → 2 compiles`; without recorded text."""
    told = f"{report.totals.compiles} → {report.totals.predicted} compiles"
    if not parts.timed:
        return (
            f"{'Save compiles' if report.totals.predicted.exact else 'May save compiles'}: {told}"
        )
    saving = f"{_number(parts.most, report.totals.seconds)} of {duration(report.totals.seconds)}"
    if parts.uncertain > 1e-6:
        low = parts.least
        saving = f"{_number(low, parts.most)} to {saving}" if low else f"up to {saving}"
    return f"Save {saving} of compiling: {told}"


def lead(report: Report, forced: bool) -> str:
    """What it cost and what to do; `forced` if no size could become dynamic by itself."""
    inputs = count(report.inputs, "input")
    why = " dynamic=False keeps PyTorch from making sizes dynamic by itself." if forced else ""
    return f"{cost(report.totals)}. Declare {inputs} dynamic.{why}"


def _number(part: float, whole: float) -> str:
    """`1.4` where `whole` is told in the same unit, else `300 ms`."""
    number, _, unit = duration(part).partition(" ")
    return number if unit == duration(whole).partition(" ")[2] else f"{number} {unit}"


def well(report: Report) -> bool:
    """Whether there is nothing to do."""
    return case(report) is Case.compiled_once or (
        case(report) is Case.no_help
        and not any(found.compiles for found in report.findings)
        and all(frame.verdict is Verdict.nothing_to_do for frame in report.frames)
    )


class Sureness(NamedTuple):
    """The chip: a word, and what it means."""

    word: str
    meaning: str


def sureness(report: Report) -> Sureness | None:
    """How sure the saving is; None where none is told."""
    if report.measured:
        return Sureness(
            "measured",
            f"The program ran {report.measured.runs} times, without and with the advice.",
        )
    if case(report) is Case.profile:
        return Sureness("not known", "A PGO profile tells no compiles, so no saving is predicted.")
    if case(report) is not Case.helps:
        return None
    if report.totals.predicted.exact:
        return Sureness(
            "exact",
            "Predicted, not measured: the recorded calls, gone through again with the advice, need "
            "exactly this many compiles.",
        )
    return Sureness(
        "range",
        "Predicted, not measured: the record does not tell enough for one number. "
        "The faded part of the bar may stay.",
    )


def doubts(frames: Iterable[FrameReport]) -> list[str]:
    """Why predictions are ranges, each reason once, that of the most expensive function first."""
    return list(dict.fromkeys(reason for frame in frames for reason in frame.unsure))
