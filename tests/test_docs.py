"""The generated pages are up to date."""

from __future__ import annotations

from pathlib import Path

from scripts.docs import rules, speed, tables

DOCS = Path(__file__).parents[1] / "docs"


def test_generated_pages_are_up_to_date() -> None:
    assert (DOCS / "tables.md").read_text() == tables()
    assert (DOCS / "rules.md").read_text() == rules()
    assert (DOCS / "speed.md").read_text() == speed()
