"""The answer: what has come out, and how each rendering that has a headline says it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from pgo_advisor.render.measured import headline, verdict
from pgo_advisor.render.text import cost, count, one_line, spent
from pgo_advisor.report import Consequence, Report, Sureness, Verdict


class Case(Enum):
    """What has come out."""

    no_record = auto()
    """Neither a compile nor an input that varied."""
    profile = auto()
    """Inputs varied; no compile was recorded."""
    cut_off = auto()
    """Nothing was compiled twice before the log ends within a compile."""
    compiled_once = auto()
    no_help = auto()
    """No declaration saves a compile."""
    helps = auto()


def case(report: Report) -> Case:
    """Which of the cases the report is."""
    totals = report.totals
    if not totals.compiles:
        return Case.profile if report.advice else Case.no_record
    if not totals.recompiles:
        return Case.cut_off if totals.unfinished else Case.compiled_once
    return Case.helps if report.advice else Case.no_help


class Answer(NamedTuple):
    """The outcome in a headline and a sentence. Neither holds recorded text."""

    headline: str
    sentence: str


def answer(report: Report) -> Answer:
    """The headline and the sentence of a report: what was measured, else what is predicted."""
    if report.measured is not None:
        return Answer(headline(report.measured), verdict(report.measured))
    inputs, told = count(report.inputs, "input"), cost(report.totals)
    return {
        Case.no_record: Answer(
            "Nothing to do", "No compile was recorded, and no input that varied."
        ),
        Case.profile: Answer(
            f"{inputs} varied",
            "A PGO profile tells which sizes varied, not what that cost: nothing is predicted.",
        ),
        Case.cut_off: Answer("Cannot tell", f"{told}: what came after that is not known."),
        Case.compiled_once: _once(report, told),
        Case.no_help: _no_help(report, told),
        Case.helps: Answer(_saving(report), f"{told}. Declare {inputs} dynamic."),
    }[case(report)]


def _once(report: Report, told: str) -> Answer:
    well = "Nothing to declare" if report.findings else "All is well"
    return Answer(well, f"{told}; nothing was compiled twice.")


def _no_help(report: Report, told: str) -> Answer:
    if any(found.compiles for found in report.findings):
        return Answer(
            "Declaring inputs dynamic does not help here",
            f"{told}. What would help needs a change of code.",
        )
    if all(frame.verdict is Verdict.nothing_to_do for frame in report.frames):
        return Answer("All is well", f"{told}. Nothing is left to save.")
    return Answer(
        "Declaring inputs dynamic does not help here", f"{told}. No declaration saves a compile."
    )


def _saving(report: Report) -> str:
    """`Save 1.4 of 2.8 s of compiling: 4 → 2 compiles`."""
    totals = report.totals
    compiles = f"{totals.compiles} → {totals.predicted} compiles"
    if not totals.seconds:
        return f"{'Save' if totals.predicted.exact else 'May save'} compiles: {compiles}"
    saved = spent(totals.least_saved_seconds, totals.saved_seconds, totals.seconds)
    return f"Save {saved} of compiling: {compiles}"


def severe(report: Report) -> Iterator[str]:
    """What is worse than a recompile, a sentence each, with recorded names."""
    places = {frame.id: f"{frame.name} ({frame.file}:{frame.line})" for frame in report.frames}
    for one in report.severities:
        more = f" and {len(one.frames) - 1} more" if len(one.frames) > 1 else ""
        name = one_line(places.get(one.frames[0], one.frames[0]), 160) + more
        if one.kind is Consequence.runs_uncompiled:
            cure = "; the advice may cure it" if one.may_be_cured else ""
            yield f"Runs uncompiled once the recompile limit is hit{cure}: {name}"
        else:
            yield f"A compile failed: {name}"


def sure(report: Report) -> str:
    """How the saving is known, in a sentence; empty if none is told."""
    why = next(iter(doubts(report)), "")
    return {
        Sureness.exact: (
            "Exact: the recorded calls need this many compiles. Measure it: pgo-advisor verify"
        ),
        Sureness.range: f"Not exact: {why}. Check with pgo-advisor verify",
        Sureness.measured: "",
        Sureness.unknown: "",
    }[report.sureness]


def doubts(report: Report) -> list[str]:
    """Why the prediction is a range, each reason once, that of the most expensive function first."""
    return list(dict.fromkeys(reason for frame in report.frames for reason in frame.unsure))
