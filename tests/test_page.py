"""A person uses the page in a real browser: opened from disk, with mouse and with keyboard alone."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, sync_playwright

import pgo_advisor
from pgo_advisor.analysis import Analysis

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LIMIT, RANKS, WELL = "s20_recompile_limit", "m01_two_ranks", "t25_marked_first_call"
LENGTHS, CALLS = "r01_bert_varlen", Path(__file__).parent / "fixtures/calls/eager_2.15.0.log.gz"
Open = Callable[..., Page]

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(
    browser: Browser, analysis: Callable[[str, str], Analysis], tmp_path: Path
) -> Iterator[Open]:
    """Opens the page of a recording; afterwards it must have logged nothing and asked for nothing else."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    said: list[str] = []
    asked: set[str] = set()
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("request", lambda request: asked.add(request.url.split("#")[0].split(":")[0]))

    def make(name: str = LIMIT, width: int = 1280, dark: bool = False) -> Page:
        path = tmp_path / "report.html"
        report = pgo_advisor.analyze(CALLS) if name == "calls" else analysis("2.13.0", name)
        path.write_text(report.to_html(), "utf-8")
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.goto(path.as_uri())
        return page

    yield make
    context.close()
    assert said == []
    assert asked <= {"file", "blob", "data"}


def column(table: Locator, number: int) -> list[str]:
    return [
        str(cell.get_attribute("data-value") or cell.inner_text())
        for cell in table.locator(f"tbody td:nth-child({number})").all()
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", [LIMIT, RANKS, WELL, LENGTHS, "calls"])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    opened: Open, name: str, width: int, dark: bool
) -> None:
    page = opened(name, width, dark)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        (LIMIT, "s20_recompile_limit.py:2", "torch.compile(dynamic=False) is set"),
        ("s08_module_int_attr", "s08_module_int_attr.py:11", "L['self'].step varies: 2, 3, 4"),
        (LENGTHS, "r01_bert_varlen.py:8", "If one extra compile is fine, do nothing."),
        ("u32_llama_growing_cache", "u32_llama_growing_cache.py:20", "vary together: 6, 7"),
    ],
)
def test_the_first_screen_says_why_what_remains_and_what_to_paste(
    opened: Open, name: str, line: str, words: str
) -> None:
    page = opened(name)
    answer = page.locator("#answer")
    assert line in answer.inner_text()
    assert words in answer.inner_text()
    worse = "Runs uncompiled" if name == LIMIT else "Nothing worse"
    assert worse in answer.inner_text()
    for part in (answer, page.locator("#do .paste").first):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("name", [LIMIT, RANKS, LENGTHS, "calls"])
def test_it_prints_on_four_pages(opened: Open, name: str) -> None:
    printed = opened(name).pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type /Page\b", printed)) <= 4


def test_every_copy_button_copies_what_stands_beside_it(opened: Open) -> None:
    page = opened()
    page.evaluate(
        "document.querySelectorAll('[role=tabpanel], details').forEach("
        "(part) => { part.hidden = false; part.open = true })"
    )
    pastes = page.locator(".paste").all()
    assert len(pastes) > 5
    for paste in pastes:
        page.evaluate("navigator.clipboard.writeText('')")
        paste.locator("button.copy").click()
        paste.get_by_text("Copied", exact=True).wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied
        assert copied == paste.locator("code").text_content()


def test_a_table_sorts_both_ways(opened: Open) -> None:
    table = opened().locator("#compiles table")
    seconds = table.locator("thead th").all_inner_texts().index("Seconds") + 1
    head = table.locator(f"th:nth-child({seconds})")
    before = [float(value) for value in column(table, seconds)]
    assert len(set(before)) > 1
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(value) for value in column(table, seconds)] == sorted(before, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(value) for value in column(table, seconds)] == sorted(before)
    table.locator("th:nth-child(1) button").click()
    assert head.get_attribute("aria-sort") is None


def test_the_search_hides_what_does_not_have_the_words(opened: Open) -> None:
    page = opened()
    items = page.locator("[data-find]")
    number = items.count()
    page.locator("#find").fill("FIRST COMPILE")
    left = [item for item in items.all() if item.get_attribute("hidden") is None]
    assert 0 < len(left) < number
    assert all("first compile" in str(item.text_content()).lower() for item in left)
    assert page.locator(".filter").inner_text().startswith(f"{len(left)} of {number} ")
    page.locator("#find").fill("")
    assert page.locator("[data-find][hidden]").count() == 0
    assert not page.locator(".filter").is_visible()


def test_a_click_on_where_the_time_went_filters_the_page_and_again_shows_all(opened: Open) -> None:
    page = opened()
    for block in page.locator("#where a[data-filter]").all():
        block.focus()
        page.keyboard.press("Enter")
        assert page.locator("#find").input_value() == block.get_attribute("data-filter")
        assert page.locator("#compiles [data-find]:not([hidden])").count() > 0
        page.keyboard.press("Enter")
        assert page.locator("[data-find][hidden]").count() == 0


def test_tabs_by_mouse_and_by_arrows(opened: Open) -> None:
    page = opened()
    first, *others = page.locator("#do > .tabs > .tablist > [role=tab]").all()
    assert others
    last = others[-1]
    assert first.get_attribute("aria-selected") == "true"
    last.click()
    panels = page.locator("#do > .tabs > [role=tabpanel]:visible")
    assert panels.count() == 1
    assert panels.get_attribute("aria-labelledby") == last.get_attribute("id")
    page.keyboard.press("ArrowRight")
    assert first.get_attribute("aria-selected") == "true"
    assert panels.get_attribute("aria-labelledby") == first.get_attribute("id")
    assert first.evaluate("(tab) => tab === document.activeElement")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_theme_changes_and_changes_back(opened: Open, dark: bool) -> None:
    page = opened(dark=dark)
    color = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(color)
    page.locator("#theme").click()
    assert page.evaluate(color) != before
    page.locator("#theme").click()
    assert page.evaluate(color) == before


def test_the_timeline_zooms(opened: Open) -> None:
    page = opened()
    picture = page.locator("#when svg").first
    whole = picture.evaluate("(svg) => svg.getBoundingClientRect().width")
    page.get_by_text("Zoom in").click()
    assert picture.evaluate("(svg) => svg.getBoundingClientRect().width") == pytest.approx(
        2 * whole
    )
    for _ in range(3):
        page.get_by_text("Zoom out").click()
    assert picture.evaluate("(svg) => svg.getBoundingClientRect().width") == pytest.approx(whole)


@pytest.mark.parametrize("section", ["functions", "compiles"])
def test_the_csv_has_the_rows_shown(opened: Open, tmp_path: Path, section: str) -> None:
    page = opened()
    with page.expect_download() as download:
        page.locator(f"#{section} button.csv").click()
    assert download.value.suggested_filename == f"{section}.csv"
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    head, *rows = list(csv.reader(saved.read_text("utf-8").splitlines()))
    table = page.locator(f"#{section} table")
    assert head == table.locator("th").all_inner_texts()
    seconds = head.index("Seconds")
    assert [row[seconds] for row in rows] == column(table, seconds + 1)


def test_the_json_is_the_report(
    opened: Open, analysis: Callable[[str, str], Analysis], tmp_path: Path
) -> None:
    page = opened()
    with page.expect_download() as download:
        page.locator("#download").click()
    assert download.value.suggested_filename == "pgo-advisor.json"
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    assert json.loads(saved.read_text("utf-8")) == json.loads(analysis("2.13.0", LIMIT).to_json())


def test_the_keyboard_alone_reaches_everything(opened: Open) -> None:
    page = opened()
    page.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((part) => { part.open = true; });
          document.addEventListener("focusin", (event) => { event.target.dataset.reached = ""; });
        }"""
    )
    wanted = "a, button:not([tabindex='-1']), input, summary, [tabindex='0']"
    for _ in range(page.locator(wanted).filter(visible=True).count() + 20):
        page.keyboard.press("Tab")
    missed = """wanted => [...document.querySelectorAll(wanted)]
        .filter((part) => part.checkVisibility() && !("reached" in part.dataset))
        .map((part) => part.outerHTML)"""
    assert page.locator("[data-reached]").count() > 20
    assert page.evaluate(missed, wanted) == []
