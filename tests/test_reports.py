"""Console text as people paste and store it.

The right answers stand in expected.json, typed from the text itself.

The first pattern that fits a file's path has its facts:
causes      kind, source, dim, expected, actual of every reason
refused_by  what a reason expected, and the compile whose graph refused
pins        source, dim, value, the user's file and line
limits      function, which limit, its value
unseen      how many recompiles the text implies and leaves out
places      files and lines of the functions
release     of PyTorch, or the newest that the text can be of
declare     sources and dims that are to be declared
listed      whether there is a list of dynamic sources
findings    rule, recompiles that count with it, the first of the user's lines
fewest      the least number of compiles that the range allows, at most
profile     source, sizes, value of the entries of a PGO profile
error       what is said where nothing is found
waits       facts that are not right yet, and why
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTS

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.errors import InputError

REPORTS = TESTS / "fixtures" / "reports"
EXPECTED: dict[str, dict[str, Any]] = json.loads((REPORTS / "expected.json").read_text())
FILES = sorted(
    path.relative_to(REPORTS).as_posix()
    for path in REPORTS.rglob("*")
    if path.is_file() and path.name != "expected.json"
)


@cache
def analysis(name: str) -> Analysis:
    return pgo_advisor.analyze(REPORTS / name)


def rows(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return found


def asked(fact: str) -> Iterator[Any]:
    for name in FILES:
        facts = next(facts for pattern, facts in EXPECTED.items() if fnmatch(name, pattern))
        if fact in facts:
            waits = facts.get("waits", {}).get(fact)
            marks = [pytest.mark.xfail(reason=waits, strict=True)] if waits else []
            yield pytest.param(name, facts[fact], id=name, marks=marks)


def every(fact: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "right"), list(asked(fact)))


def as_set(found: list[Any]) -> set[tuple[Any, ...]]:
    return {tuple(item) for item in found}


def test_every_pattern_is_of_a_file() -> None:
    assert all(any(fnmatch(name, pattern) for name in FILES) for pattern in EXPECTED)
    assert len(FILES) > 100


@every("causes")
def test_causes(name: str, right: list[Any]) -> None:
    told = [
        row for row in rows(analysis(name).tables.guard_failures) if row["cause"] != "not-in-text"
    ]
    keys = ("cause", "source", "dim", "expected", "actual")
    assert {tuple(row[key] for key in keys) for row in told} == as_set(right)


@every("refused_by")
def test_refused_by(name: str, right: list[Any]) -> None:
    tables = analysis(name).tables
    ids = dict(zip(tables.compiles["compile"], tables.compiles["compile_id"], strict=True))
    found = {
        (row["expected"], ids[row["against"]])
        for row in rows(tables.guard_failures)
        if row["expected"]
    }
    assert found >= as_set(right)


@every("pins")
def test_pins(name: str, right: list[Any]) -> None:
    found = {
        (
            row["source"],
            row["dim"],
            row["value"],
            row["user_file"] and f"{row['user_file']}:{row['user_line']}",
        )
        for row in rows(analysis(name).tables.specializations)
    }
    assert found == as_set(right)


@every("limits")
def test_limits(name: str, right: list[Any]) -> None:
    found = set()
    for row in rows(analysis(name).tables.compiles):
        if row["outcome"] == "limit":
            kind, _, number = (
                row["settings"] or row["fail_reason"].replace(" reached", "")
            ).partition("=")
            found.add((row["name"], kind, int(number) if number else None))
    assert found == as_set(right)


@every("unseen")
def test_unseen(name: str, right: int) -> None:
    assert (analysis(name).tables.compiles["outcome"] == "unseen").sum() == right
    assert not any(finding.rule == "unknown-cause" for finding in analysis(name).findings)


@every("places")
def test_places(name: str, right: list[str]) -> None:
    found = {f"{row['file']}:{row['line']}" for row in rows(analysis(name).tables.compiles)}
    assert found == set(right)


@every("release")
def test_release(name: str, right: str) -> None:
    assert str(analysis(name).release) == right


@every("declare")
def test_declare(name: str, right: list[Any]) -> None:
    found = {(item.pair.source, item.pair.dim) for item in analysis(name).advice}
    assert found == as_set(right)


@every("listed")
def test_listed(name: str, right: bool) -> None:
    assert bool(analysis(name).dynamic_sources) == right


@every("findings")
def test_findings(name: str, right: list[Any]) -> None:
    found = {
        (found.rule, found.compiles, found.lines[0].place if found.lines else None)
        for found in analysis(name).findings
    }
    assert found == as_set(right)


@every("fewest")
def test_fewest(name: str, right: int) -> None:
    assert analysis(name).totals.predicted.low <= right


@every("profile")
def test_profile(name: str, right: list[Any]) -> None:
    entries = rows(analysis(name).tables.pgo_entries)
    found = [[row["source"], row["size"] and list(row["size"]), row["value"]] for row in entries]
    assert found == right


@every("error")
def test_nothing_found(name: str, right: str) -> None:
    with pytest.raises(InputError, match=right) as raised:
        pgo_advisor.analyze(REPORTS / name)
    assert "was torch.compile reached" not in str(raised.value)


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_unknown(name: str) -> None:
    try:
        found = analysis(name)
    except InputError:
        return
    assert "unknown" not in set(found.tables.guard_failures["cause"])
    assert not re.search(r"Please report it", found.to_text())
    assert Path(name).name
