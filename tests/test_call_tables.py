"""What a trace with counted calls says; `eager.py` made the recording, with PyTorch 2.15 on Python 3.12."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgo_advisor
from pgo_advisor.advice.paddings import paddings
from pgo_advisor.ingest.trace.calls import call_rows
from pgo_advisor.render.charts import histogram
from pgo_advisor.report.calls import GraphCalls

RECORDING = Path(__file__).parent / "fixtures" / "calls" / "eager_2.15.0.log.gz"


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    report = pgo_advisor.analyze(RECORDING).to_dict()
    return {item["frame"]: item for item in report["calls"]}


@pytest.mark.parametrize(
    ("function", "calls", "eager", "line"),
    [
        ("g", 16, 12, 7),  # 8 graphs twice; sizes 10 to 13 twice, and four in a thread
        ("h", 0, 5, 11),  # its compile failed
        ("k", 1, 3, 16),  # under the stance force_eager
        (
            "plain",
            1,
            0,
            None,
        ),  # the seven calls of the function itself are not meant to be compiled
    ],
)
def test_uncompiled_calls_are_told_apart(
    told: dict[str, dict[str, Any]], function: str, calls: int, eager: int, line: int | None
) -> None:
    place = line and f"/home/user/app/calls.py:{line}"
    found = told[function]
    assert (found["calls"], found["eager"], found["eager_place"]) == (calls, eager, place)


def test_sizes_of_static_graphs_are_those_of_their_compiles(
    told: dict[str, dict[str, Any]],
) -> None:
    assert [item["sizes"] for item in told["g"]["sizes"]] == [[[n, 2] for n in range(2, 10)]]


def test_the_text_says_it() -> None:
    text = pgo_advisor.analyze(RECORDING).to_text()
    assert "12 calls of 28 ran uncompiled (43%)" in text
    # 152 ms by 75 µs a call; two calls came
    assert "as long as 2,034 of its calls: it never pays in this run" in " ".join(text.split())


def test_the_page_says_it() -> None:
    page = pgo_advisor.analyze(RECORDING).to_html()
    # g 12 of 28, h 5 of 5, k 3 of 4, plain 0 of 1
    assert '<a href="#calls">20 of 38 calls ran uncompiled (53%)</a>' in page
    assert "the first: 05:56:50 UTC, called at /home/user/app/calls.py:7" in page
    section = page.partition('<section id="calls">')[2].partition("</section>")[0]
    assert section.count("it never pays in this run") == 10
    assert section.count("<rect ") == 8
    assert "2 graphs: pad to 5 9. It adds 27 % elements." in section


@pytest.mark.parametrize(("calls", "pays"), [(9, False), (10, True), (None, True)])
def test_a_graph_pays_unless_its_calls_are_short_and_few(calls: int | None, pays: bool) -> None:
    mean = None if calls is None else 0.01
    assert GraphCalls("0/0", None, calls or 1, mean, 1.0).never_pays is not pays


def test_a_histogram_has_all_calls() -> None:
    assert [(c.x, c.height, c.low) for c in histogram([(2, 1), (7, 4)])] == [
        (0, 0.25, 2),
        (50, 1, 7),
    ]
    columns = histogram([(size, 2) for size in range(100, 1100)])
    assert len(columns) <= 48
    assert sum(column.calls for column in columns) == 2000
    assert (columns[0].low, columns[0].high) == (100, 120)


@given(st.dictionaries(st.integers(2, 60), st.integers(1, 9), min_size=3, max_size=8))
def test_padding_adds_the_least_of_all_choices(calls: dict[int, int]) -> None:
    def added(chosen: tuple[int, ...]) -> int:
        return sum((min(c for c in chosen if c >= n) - n) * k for n, k in calls.items())

    sizes, whole = sorted(calls), sum(n * k for n, k in calls.items())
    for option in paddings(calls):
        assert option.padding == round(added(option.sizes) / whole, 4)
        if option.multiple is None:
            choices = itertools.combinations(sizes[:-1], len(option.sizes) - 1)
            assert added(option.sizes) == min(added((*c, sizes[-1])) for c in choices)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"version": 2, "pid": 1, "calls": 3}',
        '{"version": 1, "pid": 1, "calls": -3}',
        '{"version": 1, "pid": 1, "calls": 1e999}',
        '{"version": 1, "pid": 1, "eager": 1, "first": 1e300}',
        json.dumps({"version": 1, "pid": 1, "calls": 1, "sizes": [[[1 << 80], 1]]}),
    ],
)
def test_what_is_no_such_record_is_passed_over(text: str) -> None:
    assert call_rows([text]) == ([], [])


def test_the_last_record_of_a_process_counts() -> None:
    earlier, later, other = (
        json.dumps({"version": 1, "pid": pid, "calls": calls, "seconds": 0.0})
        for pid, calls in ((1, 3), (1, 5), (2, 7))
    )
    rows, _ = call_rows([earlier, other, later])
    assert [(row["process"], row["calls"]) for row in rows] == [(1, 5), (2, 7)]
