"""Draws docs/architecture.svg from the imports of pgo_advisor: `python -m scripts.architecture`."""

from __future__ import annotations

from pathlib import Path

from scripts.architecture.picture import picture

PICTURE = Path(__file__).parents[2] / "docs" / "architecture.svg"

if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
