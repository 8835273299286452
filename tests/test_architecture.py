"""The picture of docs/architecture.md, and how it is made."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from scripts.architecture.imports import circles, floors
from scripts.architecture.picture import draw, picture

ROOT = Path(__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_up_to_date() -> None:
    drawn = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == picture(), "python -m scripts.architecture"


def test_every_folder_is_described() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in (ROOT / "pgo_advisor").glob("*/__init__.py")]
    assert folders
    assert [name for name in folders if f"`{name}/`" not in page] == []


def test_floors_and_circles() -> None:
    found = {"top": {"left", "right"}, "left": {"base"}, "right": {"left", "pair"}}
    found |= {"pair": {"right"}, "base": set()}
    assert [circle for circle in circles(found) if len(circle) > 1] == [{"right", "pair"}]
    assert floors(found) == {"base": 1, "left": 2, "right": 3, "pair": 3, "top": 4}


def test_what_is_drawn() -> None:
    root = ElementTree.fromstring(draw({"top": {"base"}, "base": set()}))
    texts = {text.text: float(text.attrib["y"]) for text in root.iter(f"{SVG}text")}
    assert set(texts) == {"top", "base"}
    assert texts["top"] < texts["base"]
    assert sum("marker-end" in path.attrib for path in root.iter(f"{SVG}path")) == 1
