"""Takes the pictures of docs/report.md by Chromium, Playwright and Pillow: `python -m scripts.pictures`."""

from __future__ import annotations

import shutil
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import pgo_advisor
from scripts.bench.large_trace import Recording

ROOT = Path(__file__).parents[1]
TRACES = ROOT / "tests/fixtures/traces/2.13.0"
CALLS = ROOT / "tests/fixtures/calls/eager_2.15.0.log.gz"
PICTURES = ROOT / "docs/pictures"
VIEWS = {"wide": (1280, 800, "light"), "narrow": (390, 800, "dark")}
REPORTS = {
    "training": "u41_inductor_backward.log.gz",
    "lengths": "r01_bert_varlen.log.gz",
    "cache": "u32_llama_growing_cache.log.gz",
    "resolutions": "u35_resnet_resolution.log.gz",
    "ranks": "m01_two_ranks",
    "well": "t25_marked_first_call.log.gz",
    "limit": "s20_recompile_limit.log.gz",
}
PARTS = {
    ("lengths", "#where"): "where",
    ("ranks", "#when"): "when",
    ("calls", "#calls article >> nth=0"): "calls",
}
COPIES = 120
"""Of the recording `limit`, each with nine compiles, for the report `many`."""


def main() -> None:
    """Write all pictures anew."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = _pages(Path(folder))
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in (*REPORTS, "many"):
            for view in VIEWS:
                _save(_taken(browser, pages[name], view), f"{name}_{view}")
        _save(_taken(browser, pages["lengths"], "wide", scheme="dark"), "lengths_wide_dark")
        _save(_taken(browser, pages["lengths"], "narrow", scheme="light"), "lengths_narrow_light")
        for (name, part), picture in PARTS.items():
            _save(_taken(browser, pages[name], "wide", part), picture)
        browser.close()


def _pages(folder: Path) -> dict[str, Path]:
    many = folder / "many.log"
    recording = Recording(TRACES / REPORTS["limit"])
    with many.open("wb") as log:
        log.writelines(recording.strings)
        log.writelines(islice(recording.copies(), COPIES))
    recorded = {name: TRACES / file for name, file in REPORTS.items()}
    pages = {}
    for name, path in {**recorded, "calls": CALLS, "many": many}.items():
        pages[name] = folder / f"{name}.html"
        pages[name].write_text(pgo_advisor.analyze(path).to_html(), "utf-8")
    return pages


def _taken(
    browser: Browser, page: Path, view: str, part: str | None = None, scheme: str | None = None
) -> bytes:
    width, height, usual = VIEWS[view]
    shown = browser.new_page(viewport={"width": width, "height": height})
    shown.emulate_media(color_scheme="dark" if (scheme or usual) == "dark" else "light")
    shown.goto(page.as_uri())
    if part is None:
        return shown.screenshot()
    shown.evaluate("document.querySelector('header').style.position = 'static'")
    return shown.locator(part).screenshot()


def _save(picture: bytes, name: str) -> None:
    reduced = Image.open(BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    reduced.save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
