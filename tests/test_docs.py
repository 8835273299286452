"""The generated pages are up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "docs.py"))
    assert (ROOT / "docs" / "tables.md").read_text() == made["tables"]()
    assert (ROOT / "docs" / "rules.md").read_text() == made["rules"]()
    assert (ROOT / "docs" / "speed.md").read_text() == made["speed"]()
