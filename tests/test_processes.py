"""Ranks that compiled alike stand for one another in the reports."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import Trace

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.render.groups import processes
from pgo_advisor.report import ProcessGroup, runs_in_words


@pytest.fixture(scope="module")
def job(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Nine ranks: rank 3 compiled once, rank 7 another program, the others twice."""
    once, twice = sorted(trace("2.13.0", "m01_two_ranks").iterdir())
    directory = tmp_path_factory.mktemp("job")
    for rank in range(9):
        log = directory / f"dedicated_log_torch_trace_rank_{rank}_x.log"
        own = trace("2.13.0", "s01_batch_dim") if rank == 7 else once if rank == 3 else twice
        shutil.copy(own, log)
        # each recording says its own rank
        log.write_bytes(
            log.read_bytes().replace(b'"rank": 1', b'"rank": %d' % rank)
            if own == twice
            else log.read_bytes().replace(b'"rank": 0', b'"rank": %d' % rank)
        )
    return pgo_advisor.analyze(directory)


def test_groups(job: Analysis) -> None:
    assert job.processes == (
        ProcessGroup((0, 1, 2, 4, 5, 6, 8), (0, 1, 2, 4, 5, 6, 8), 2, ()),
        ProcessGroup((3,), (3,), 1, ("step: 1 compile instead of 2",)),
        ProcessGroup(
            (7,), (7,), 2, ("f: 2 compiles instead of 0", "step: 0 compiles instead of 2")
        ),
    )
    assert processes(job) == [
        "7 processes alike (ranks 0 to 2, 4 to 6, 8): 2 compiles each",
        "one process (rank 3): 1 compile; step: 1 compile instead of 2",
        "one process (rank 7): 2 compiles; f: 2 compiles instead of 0; step: 0 compiles instead of 2",
    ]


def test_one_recompile_is_shown_for_each_group(job: Analysis) -> None:
    assert len(job.recompiles) == 8
    shown = {(ranks, found.frame) for ranks, found in job.shown_recompiles}
    assert len(job.shown_recompiles) == 2
    assert shown == {("0 to 2, 4 to 6, 8", "step"), ("7", "f")}
    assert "0 to 2, 4 to 6, 8  0/1" in job.to_text()
    assert "| `0/1` | 0 to 2, 4 to 6, 8 | `step` |" in job.to_markdown()
    assert "0 to 2, 4 to 6, 8" in job.to_html()


def test_one_process_needs_no_words(trace: Trace) -> None:
    alone = pgo_advisor.analyze(trace("2.13.0", "s01_batch_dim"))
    assert processes(alone) == []
    assert "Processes" not in alone.to_text() + alone.to_html() + alone.to_markdown()


def test_a_log_that_is_cut_disagrees_with_no_other(trace: Trace, tmp_path: Path) -> None:
    content = trace("2.13.0", "s01_batch_dim").read_bytes()
    end = content.rindex(b'{"compilation_metrics"')
    for rank, log in enumerate([content, content[: content.rindex(b"\n", 0, end) + 1]]):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(log)
    cut = pgo_advisor.analyze(tmp_path)
    assert [found.rule for found in cut.findings] == []
    assert processes(cut) == [
        "one process (rank 0): 2 compiles",
        "one process (rank 1): 2 compiles; its log ends within a compile",
    ]


def test_many_ranks_are_cut_between_two() -> None:
    assert (
        runs_in_words([0, 1, 2, 5, 6, 8, 10, 11, 12, 40], "rank")
        == "ranks 0 to 2, 5 to 6, 8, 10 to 12, 40"
    )
    assert runs_in_words([0, 1, 2, 5, 6, 8, 10, 11, 12, 40], most=16) == "0 to 2, 5 to 6, 8, …"
    assert runs_in_words([], "rank") == ""


def test_compiles_of_a_rank_are_added_up(trace: Trace, tmp_path: Path) -> None:
    # rank 0 compiles in one process and in a second one, rank 1 the other way round
    once, twice = sorted(trace("2.13.0", "m01_two_ranks").iterdir())
    for number, log, rank in ((1, once, 0), (2, twice, 0), (3, twice, 1), (4, once, 1)):
        text = re.sub(rb'"rank": \d', b'"rank": %d' % rank, log.read_bytes())
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_{number}.log").write_bytes(text)
    found = pgo_advisor.analyze(tmp_path)
    assert found.totals.compiles == 6
    assert "ranks-disagree" not in {finding.rule for finding in found.findings}
