"""The facts that every rendering says first. Expected values are derived from the programs by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import TRACES, recorded
from msgspec.structs import replace

from pgo_advisor import Analysis
from pgo_advisor.advice.opportunities import least_seconds
from pgo_advisor.report import Consequence, Fate, Range, Sureness

Analyses = Callable[[str, str], Analysis]


def test_inputs_that_have_to_be_equal_are_one_change(analysis: Analyses) -> None:
    # ids and mask have the same shape: first the length differs, then the batch, a recompile each
    report = analysis("2.13.0", "s02_batch_and_seq")
    pairs = [{report.advice[i].pair.words for i in one.advice} for one in report.opportunities]
    assert sorted(map(sorted, pairs)) == [
        ["L['ids'] dim 0", "L['mask'] dim 0"],
        ["L['ids'] dim 1", "L['mask'] dim 1"],
    ]
    assert [one.saved_compiles for one in report.opportunities] == [Range(1, 1), Range(1, 1)]
    assert all(one.equal for one in report.opportunities)
    assert report.sureness is Sureness.exact


@pytest.mark.parametrize(
    ("version", "name"),
    [(path.name, name) for path in sorted(TRACES.iterdir()) for name in recorded(path.name)],
)
def test_each_recompile_that_goes_counts_once(analysis: Analyses, version: str, name: str) -> None:
    report = analysis(version, name)
    gone = [r for r in report.recompiles if r.fate is not Fate.stays]
    seconds = pytest.approx(sum(r.seconds for r in gone))
    assert report.totals.saved_seconds == seconds
    assert sum(frame.saved_seconds for frame in report.frames) == seconds
    assert sum(one.saved_seconds for one in report.opportunities) == seconds
    assert sum(one.saved_compiles.high or 0 for one in report.opportunities) == len(gone)
    members = [index for one in report.opportunities for index in one.advice]
    assert sorted(members) == list(range(len(report.advice)))
    assert report.totals.least_saved_seconds <= report.totals.saved_seconds + 1e-6


def test_what_may_all_stay_saves_nothing_for_certain(analysis: Analyses) -> None:
    report = analysis("2.13.0", "s08_module_int_attr")  # 1 to 5 of 5 compiles
    assert report.totals.predicted == Range(1, 5)
    assert report.totals.least_saved_seconds == 0
    assert report.sureness is Sureness.range
    assert {r.fate for r in report.recompiles} == {Fate.may_go}


def test_the_limit_is_a_severity_and_its_call_may_go(analysis: Analyses) -> None:
    report = analysis("2.13.0", "s20_recompile_limit")
    (severity,) = report.severities
    assert severity.kind is Consequence.runs_uncompiled
    assert severity.frames == (report.frames[0].id,)
    assert severity.may_be_cured
    assert report.recompiles[-1].fate is Fate.may_go
    # eight graphs, then the limit: the first compile alone is sure to stay
    assert report.totals.saved_seconds == pytest.approx(report.totals.recompile_seconds)


def test_the_least_that_goes_is_the_cheapest(analysis: Analyses) -> None:
    report = analysis("2.13.0", "s02_batch_and_seq")
    (frame,) = report.frames
    seconds = [recompile.seconds for recompile in report.recompiles]
    one_may_stay = replace(frame, predicted=Range(1, 2))
    assert least_seconds(one_may_stay, report.recompiles) == pytest.approx(min(seconds))
