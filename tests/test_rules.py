"""Rules, each with what it finds in a recording: `rules/PGOnnn_name.expected.json`.

It is written down from the program. The recording stands beside it, or in `fixtures`. Of each recompile it
has the main cause, which keeps the call from the graph that is nearest to it: kind, source, dim.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import TESTS

import pgo_advisor
from pgo_advisor.render.explain import explain_one
from pgo_advisor.rules import RULES, Rule

EXPECTED = sorted((TESTS / "rules").glob("*.expected.json"))
SECTIONS = [
    "What it does",
    "Why is this bad",
    "Example",
    "Use instead",
    "When not to",
    "References",
]


def recording(path: Path, named: str | None) -> Path:
    if named:
        return TESTS / "fixtures" / named
    name = path.name.removesuffix(".expected.json")
    [found] = [*path.parent.glob(f"{name}.log.gz"), *path.parent.glob(f"{name}.txt")]
    return found


@pytest.mark.parametrize("path", EXPECTED, ids=lambda path: path.name.partition(".")[0])
def test_what_it_finds(path: Path) -> None:
    expected = json.loads(path.read_text())
    found = pgo_advisor.analyze(recording(path, expected.get("recording"))).to_dict()

    def told(part: str) -> list[dict[str, object]]:
        keys = expected[part][0].keys() if expected[part] else ("rule",)
        return sorted(({key: item[key] for key in keys} for item in found[part]), key=str)

    assert told("findings") == sorted(expected["findings"], key=str)
    assert told("advice") == sorted(expected["advice"], key=str)
    assert {
        recompile["compile_id"]: [recompile["causes"][0][key] for key in ("kind", "source", "dim")]
        for recompile in found["recompiles"]
    } == expected["causes"]


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_each_rule_has_a_recording_that_fires_it(rule: Rule) -> None:
    name = f"{rule.code}_{rule.id.replace('-', '_')}"
    own = [json.loads(path.read_text()) for path in EXPECTED if path.name.startswith(name)]
    assert own
    for expected in own:
        assert rule.id in {item["rule"] for item in expected["findings"] + expected["advice"]}


def test_each_recording_is_of_a_rule() -> None:
    codes = {rule.code for rule in RULES.values()}
    assert {path.name.partition("_")[0] for path in (TESTS / "rules").iterdir()} == codes


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_its_docstring_is_its_page(rule: Rule) -> None:
    assert re.fullmatch(r"PGO\d{3}", rule.code)
    assert list(rule.sections) == SECTIONS
    assert all(any(parts) for parts in rule.sections.values())
    page = explain_one(rule.code.lower())
    assert page == explain_one(rule.id.upper())
    assert page is not None
    assert page.startswith(f"# {rule.code} {rule.id}: {rule.title}\n")


def test_no_two_rules_share_a_code() -> None:
    assert len({rule.code for rule in RULES.values()}) == len(RULES)
    assert [rule.code for rule in RULES.values()] == sorted(rule.code for rule in RULES.values())
