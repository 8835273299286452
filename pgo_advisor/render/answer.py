"""The answer: what has come out, and how each rendering that has a headline says it."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from pgo_advisor.render.measured import headline, verdict
from pgo_advisor.render.text import cost, count, saved
from pgo_advisor.report import Report


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
    inputs, spent = count(report.inputs, "input"), cost(report.totals)
    below = "; what would, is below." if report.findings else "."
    return {
        Case.no_record: Answer(
            "Nothing to do", "No compile was recorded, and no input that varied."
        ),
        Case.profile: Answer(
            f"{inputs} varied",
            "A PGO profile tells which sizes varied, not what that cost: nothing is predicted.",
        ),
        Case.cut_off: Answer("Cannot tell", f"{spent}: what came after that is not known."),
        Case.compiled_once: Answer("Nothing to do", f"{spent}; nothing was compiled twice."),
        Case.no_help: Answer(
            "Declaring inputs dynamic does not help here",
            f"{spent}. No declaration would save a compile{below}",
        ),
        Case.helps: Answer(
            f"{count(report.totals.compiles, 'compile')} become {report.totals.predicted}",
            f"{spent}. With {inputs} declared dynamic{_gain(report)}. "
            "This is predicted from the recorded calls, not measured.",
        ),
    }[case(report)]


def _gain(report: Report) -> str:
    totals = report.totals
    return f", {saved(totals)} would go" if totals.seconds else " there are fewer"
