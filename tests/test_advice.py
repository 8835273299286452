"""Causes, verdicts, lists and predictions against the tables written by hand beside each program.

`tests/scenarios/<id>.json` was filled by reasoning from the program and by running it, never from what
pgo-advisor says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTS, TRACES, Trace, recorded

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.replay.frames import frames_of
from pgo_advisor.replay.observations import Observations
from pgo_advisor.replay.predict import Predictor

Analyses = Callable[[str, str], Analysis]

SIDECARS = {path.stem: path for path in sorted((TESTS / "scenarios").glob("*.json"))}
CASES = [
    (version.name, name)
    for version in sorted(TRACES.iterdir())
    for name in recorded(version.name)
    if name in SIDECARS
]


def expected(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SIDECARS[name].read_text())
    return loaded


def in_release(version: str, name: str) -> dict[str, Any]:
    """What is expected, with what a release has otherwise (the key `in 2.7.1`).

    `any_of`: one of these pairs is enough. `unknowable`: why no trace shows what the list does here.
    """
    told = expected(name)
    return {**told, **told.get(f"in {version}", {})}


@pytest.mark.parametrize(("version", "name"), CASES)
def test_the_list_is_the_best_and_nothing_more(analysis: Analyses, version: str, name: str) -> None:
    told, result = in_release(version, name), analysis(version, name)
    assert result.totals.compiles == told["base"]
    if "unknowable" in told:
        assert any(advice.also_touches for advice in result.advice) or any(
            frame.unsure for frame in result.frames
        ), "it has to be said"
        return
    pairs = {advice.pair for advice in result.advice}
    must = {(source, dim) for source, dim in told["must"]}
    assert must <= pairs
    assert not pairs & {(source, dim) for source, dim in told.get("never", [])}
    # what a best list has to cover is the whole list, unless the table says that there are several
    assert pairs == must or "any_of" in told


@pytest.mark.parametrize(("version", "name"), CASES)
def test_the_prediction_holds(analysis: Analyses, version: str, name: str) -> None:
    told, result = in_release(version, name), analysis(version, name)
    low, high = result.totals.predicted
    assert low <= told["best"]
    assert high is None or told["best"] <= high
    assert low == told["best"] or "unknowable" in told, "the truth is at the lower end so far"


@pytest.mark.parametrize(("version", "name"), CASES)
def test_the_replay_without_advice_gives_the_recorded_compiles(
    analysis: Analyses, version: str, name: str
) -> None:
    for frame in frames_of(analysis(version, name).tables):
        assert Predictor(Observations(frame)).explained, frame.name


@pytest.mark.parametrize(("version", "name"), CASES)
def test_every_recompile_has_its_cause(analysis: Analyses, version: str, name: str) -> None:
    told, result = in_release(version, name), analysis(version, name)
    if told.get("processes", 1) > 1:
        kinds = [{cause.kind.value for cause in r.causes} for r in result.recompiles]
        assert kinds == [{c["kind"] for c in r["causes"]} for r in told["recompiles"]]
        return
    by_id = {recompile.compile_id: recompile for recompile in result.recompiles}
    assert set(by_id) == {recompile["compile"] for recompile in told["recompiles"]}
    for recompile in told["recompiles"]:
        found = by_id[recompile["compile"]]
        seen = {(cause.kind.value, cause.source, cause.dim) for cause in found.causes}
        wanted = [(c["kind"], c.get("source"), c.get("dim")) for c in recompile["causes"]]
        also = {(c["kind"], c.get("source"), c.get("dim")) for c in recompile.get("also", [])}
        assert wanted[0] in seen, recompile
        told_kinds = {(kind, source) for kind, source, _ in {*wanted, *also}}
        assert {(kind, source) for kind, source, _ in seen} <= told_kinds, recompile


@pytest.mark.parametrize(("version", "name"), CASES)
def test_verdicts(analysis: Analyses, version: str, name: str) -> None:
    told, result = in_release(version, name), analysis(version, name)
    verdicts = {frame.name: frame.verdict.value for frame in result.frames}
    # resume functions of PyTorch's own code have a line of it in their names
    assert verdicts.items() >= told["verdict"].items()
    assert all(
        name in told["verdict"] or name.startswith("torch_dynamo_resume_in_") for name in verdicts
    )


@pytest.mark.parametrize(("version", "name"), CASES)
def test_no_cause_is_unknown_and_each_that_stays_is_answered(
    analysis: Analyses, version: str, name: str
) -> None:
    result = analysis(version, name)
    assert result.totals.unknown_causes == 0
    for recompile in result.recompiles:
        if not recompile.removed:
            assert any(recompile.frame in finding.frames for finding in result.findings), recompile


def test_recordings_are_of_programs() -> None:
    programs = {path.stem for path in (TESTS / "scenarios").glob("*.py")}
    assert programs == set(SIDECARS)
    kinds = {kind.value for kind in CauseKind}
    for path in SIDECARS.values():
        for recompile in json.loads(path.read_text())["recompiles"]:
            assert {cause["kind"] for cause in recompile["causes"]} <= kinds, path.name


def test_unbacked_sizes_take_no_branch_on_another_size(analysis: Analyses) -> None:
    # sizes 1 of x join the others, the two outcomes of the branch on y stay: measured as 2
    found = analysis("2.13.0", "u57_size_one_beside_a_branch")
    assert found.totals.predicted.low - found.unbacked_saves == 2


def test_the_option_of_unbacked_sizes_keeps_the_list_in_force(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log"
    empty, other = (rf"\"dynamic_sources\": \"{value}\"" for value in ("", "L['other']"))
    text = trace("2.13.0", "s04_zero_one").read_text()
    assert empty in text
    log.write_text(text.replace(empty, other))
    found = pgo_advisor.analyze(log)
    assert found.dynamic_sources == "L['other'],L['x']:0"
    export = "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['other']\""
    assert export in found.to_text()
    assert found.to_dict()["dynamic_sources_beside_unbacked"] == "L['other']"


def test_a_size_that_stays_is_told_what_keeps_the_calls_apart(analysis: Analyses) -> None:
    def told(name: str) -> list[str]:
        findings = analysis("2.13.0", name).findings
        [stays] = [finding for finding in findings if finding.rule == "size-stays"]
        return [text for text in stays.evidence if "declared dynamic" in text]

    assert told("u61_cache_by_layer")[0] == (
        "[0/1] declared dynamic: the code reads other inputs: L['cache'][1]"
    )
    # every second row of a tensor has other strides than the whole
    assert told("u59_views_of_a_pool") == [
        "[0/1] declared dynamic: the tensors lie in memory in another way"
    ]
