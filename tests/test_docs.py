"""The generated pages are up to date."""

from __future__ import annotations

from pathlib import Path

from scripts.docs import rules, speed, tables

DOCS = Path(__file__).parents[1] / "docs"


def test_generated_pages_are_up_to_date() -> None:
    pages = rules()
    assert (DOCS / "tables.md").read_text() == tables()
    assert {name: (DOCS / name).read_text() for name in pages} == pages
    assert len(list((DOCS / "rules").iterdir())) == len(pages) - 1
    assert (DOCS / "speed.md").read_text() == speed()
