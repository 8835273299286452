"""The page: what it says, that it is self-contained, and that recorded text stays text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from conftest import Trace
from hostile import TEXTS, hostile, measured
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.render.charts import balance_bar, sizes
from pgo_advisor.render.compiles import FIRST, CompileRow, grouped
from pgo_advisor.render.icicle import icicle
from pgo_advisor.render.templates import short
from pgo_advisor.render.timeline import ticks, timelines
from pgo_advisor.report import Fate, Range, Report, Totals
from pgo_advisor.report.measured import Outcome, Way

Analyses = Callable[[str, str], Analysis]
VOID = {"meta", "br", "input"}
# SVG shapes are closed in their own tag.
ALONE = {"line", "rect", "circle", "stop"}


class Page(HTMLParser):
    """The elements of a page in their order, with their text; refuses tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALONE
        self.elements.append((tag, dict(attrs)))
        self.texts.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.texts[index].append(data)

    def all(self, tag: str, css: str | None = None) -> list[str]:
        """The texts of all elements of that tag and class, whitespace folded."""
        return [
            " ".join("".join(text).split())
            for (name, attributes), text in zip(self.elements, self.texts, strict=True)
            if name == tag and (css is None or css in (attributes.get("class") or "").split())
        ]

    def raw(self, tag: str) -> list[str]:
        found = zip(self.elements, self.texts, strict=True)
        return ["".join(text) for (name, _), text in found if name == tag]

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(params=[("2.13.0", "r01_bert_varlen"), ("2.7.1", "m01_two_ranks"), None], ids=str)
def page_text(request: pytest.FixtureRequest, analysis: Analyses) -> str:
    if request.param is None:
        return hostile(analysis("2.13.0", "r01_bert_varlen"), 30).to_html()
    return analysis(*request.param).to_html()


def test_only_its_own_style_and_script_are_allowed(page_text: str) -> None:
    page = Page(page_text)
    policy = page.attributes("meta")[1]
    assert policy["http-equiv"] == "Content-Security-Policy"
    directives = dict(part.split(" ", 1) for part in (policy["content"] or "").split("; "))
    assert directives.pop("default-src") == "'none'"
    assert directives.pop("img-src") == "data:"
    for tag in ("style", "script"):
        (text,) = page.raw(tag)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert directives.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert set(directives.values()) == {"'none'"}


def test_nothing_is_loaded_or_linked_from_elsewhere(page_text: str) -> None:
    page = Page(page_text)
    ids = {attributes.get("id") for _, attributes in page.elements}
    for tag, attributes in page.elements:
        assert tag not in {
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "form",
            "base",
            "use",
            "image",
        }
        for name, value in attributes.items():
            assert name not in {"src", "style", "srcset", "action"}
            assert not name.startswith("on")
            if name == "href" and attributes.get("id") == "download":
                assert (value or "").startswith("data:application/gzip;base64,")
            elif name == "href":
                assert (value or "")[0] == "#"
                assert (value or "")[1:] in ids
    assert not re.search(r"url\((?!#)|@import", page.raw("style")[0])


def test_it_reads_without_scripts(page_text: str) -> None:
    page = Page(page_text)
    assert all("hidden" in attributes for attributes in page.attributes("button"))
    assert page.attributes("svg")
    for attributes in page.attributes("svg"):
        # a part of a labelled picture, which has a title, stands at a place in it
        assert {"aria-label", "aria-labelledby", "aria-hidden", "x"} & attributes.keys()


def test_batch_and_sequence(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s02_batch_and_seq")
    page = Page(recorded.to_html())
    # three calls (4, 16), (4, 24), (6, 24): sequence, then batch; both are inputs' dims 0 and 1
    assert page.all("h1") == ["Save 333 of 543 ms of compiling: 3 → 1 compiles"]
    assert page.all("p", "lead")[0].endswith(" in 2 recompiles. Declare 4 inputs dynamic.")
    assert page.all("b", "chip") == ["exact"]
    blocks = page.raw("pre")
    assert blocks[0] == (
        "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['ids']:0,L['ids']:1,L['mask']:0,L['mask']:1\""
    )
    assert recorded.snippet() in blocks
    assert page.all("span", "verdict") == ["marking helps"]
    # 216 ms for the sequence, 117 ms for the batch: ids and mask go together, none counts twice
    assert [text.split(" · ")[0] for text in page.all("p", "saving")] == [
        "saves 216 ms",
        "saves 117 ms",
    ]
    cells = page.all("td")[5:]
    assert [cells[at] for at in (1, 6, 13, 20)] == [
        "tensor size L['ids'] dim 1",
        "0/1",
        "0/0",
        "0/2",
    ]
    assert [cells[at] for at in (5, 12, 19)] == ["goes", "needed", "goes"]


def test_what_marking_cannot_cure_is_not_sold_as_curable(analysis: Analyses) -> None:
    page = Page(analysis("2.13.0", "s12_dtype").to_html())
    assert page.all("h1") == ["Declaring inputs dynamic does not help here"]
    assert not page.all("section", "tab")
    assert page.all("span", "verdict") == ["marking does not help"]
    assert (
        page.all("h3")[0]
        == "A tensor changes its dtype: L['x'] (torch.float32, torch.float64, torch.bfloat16)"
    )
    assert page.all("ul", "remains")[0].startswith("Stays: A tensor changes its dtype: L['x'] ")
    assert "[0/1] 0/0: tensor 'x' dtype mismatch. expected Float, actual Double" in page.all("li")
    assert "When not to" in page.all("h4")
    assert not {"goes", "may go"} & set(page.all("td"))


def test_one_compile_is_nothing_to_do(trace: Trace) -> None:
    folder = trace("2.13.0", "m01_two_ranks")
    page = Page(pgo_advisor.analyze(next(folder.glob("*_rank_0_*"))).to_html())
    assert page.all("h1") == ["All is well"]
    assert page.all("p", "lead")[0].startswith("1 compile took ")
    assert not page.all("article")


def test_ranks_have_lanes_a_column_and_rank_seconds(analysis: Analyses) -> None:
    page = Page(analysis("2.13.0", "m01_two_ranks").to_html())
    assert sorted(page.all("text", "lane")) == [
        "rank 0",
        "rank 1",
        "step, rank 0",
        "step, rank 1",
        "with the advice",
        "with the advice",
    ]
    (lead,) = page.all("p", "lead")
    assert "summed over 2 processes (the slowest rank, " in lead
    assert lead.endswith(" Seconds are rank-seconds.")
    # all that was compiled twice goes
    assert "Also: Ranks disagree" in page.all("ul", "remains")[0]
    assert "Only first compiles remain." in page.all("ul", "remains")[0]
    # rank 1 alone met a second size; it is drawn by function and by rank
    assert [a["class"] for a in page.attributes("g")].count("goes ") == 2
    assert "Rank" in page.all("th")


def test_a_hit_limit_stands_before_the_headline(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s20_recompile_limit")
    page = Page(recorded.to_html())
    text = page.all("main")[0]
    assert text.startswith(
        "Runs uncompiled once the recompile limit is hit; the advice may cure it: "
    )
    # the call that hit it met 11, after graphs for 3 to 10
    assert "L['x'] dim 0: 3, 4, 5, 6, 7, 8, 9, 10, 11" in page.all("small")
    assert page.all("b", "chip") == ["range"]
    # 1 or more: not one of them is sure to go, the one of the limit included
    assert [part.css for part in balance_bar(recorded)] == ["needed", "may-go"]
    assert page.all("h1")[0].startswith("Save up to ")
    assert "stays" not in page.all("td")


def test_the_bar_has_parts_of_all_compiles() -> None:
    # 2 + 1.5 + 1 + 0.5 of 5 seconds
    totals = Totals(seconds=5, recompile_seconds=3, saved_seconds=2.5, least_saved_seconds=1.5)
    parts = balance_bar(Report(totals=totals))
    assert [(part.css, part.x, part.width, part.told) for part in parts] == [
        ("needed", 0, 40, "2.0 s"),
        ("goes", 40, 30, "1.5 s"),
        ("may-go", 70, 20, "1.0 s"),
        ("stays", 90, 10, "500 ms"),
    ]


def test_the_bar_counts_compiles_without_durations(analysis: Analyses) -> None:
    # 3 compiles, of which 1 or 2 are left
    recorded = analysis("2.13.0", "s02_batch_and_seq")
    (frame,) = recorded.frames
    untimed = replace(
        recorded,
        frames=(replace(frame, predicted=Range(1, 2)),),
        totals=Totals(compiles=3, recompiles=2),
    )
    parts = balance_bar(untimed)
    assert [(part.css, part.told) for part in parts] == [
        ("needed", "1 compile"),
        ("goes", "1 compile"),
        ("may-go", "1 compile"),
    ]


def test_a_call_of_a_library_gets_no_marks_to_paste(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s02_batch_and_seq")
    (frame,) = recorded.frames
    site = replace(frame.call_sites[0], through="/lib/generate.py")
    page = Page(replace(recorded, frames=(replace(frame, call_sites=(site,)),)).to_html())
    assert "mark_dynamic(ids" not in "".join(page.raw("pre"))
    assert "No line of yours can mark them: use the list." in page.all("p", "library")[0]


def test_the_page_holds_the_json(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s20_recompile_limit")
    (link,) = [a for a in Page(recorded.to_html()).attributes("a") if a.get("id") == "download"]
    data = base64.b64decode((link["href"] or "").partition(",")[2])
    assert json.loads(gzip.decompress(data)) == recorded.to_dict()


def test_many_alike_inputs_are_one_item(analysis: Analyses) -> None:
    page = Page(analysis("2.13.0", "m02_layer_caches").to_html())
    # twelve layers, a key and a value each
    (article,) = page.all("article")
    assert "L['cache'][0][0] dim 0, L['cache'][0][1] dim 0" in article
    assert "and 20 more" in article
    assert len(page.all("code", "statement")) == 24


def test_the_option_of_unbacked_sizes(analysis: Analyses) -> None:
    page = Page(analysis("2.13.0", "s04_zero_one").to_html())
    assert "Option: sizes 0 and 1 too" in page.all("summary")
    assert "export TORCH_COMPILE_UNBACKED_SOURCES=\"L['x']:0\"" in "".join(page.raw("pre"))
    # sizes 10, 20, 1 and 0: the last two are drawn as special
    assert sum(attributes["class"] == "special" for attributes in page.attributes("circle")) == 2


def test_losses_stand_in_the_answer_and_with_the_notes(analysis: Analyses) -> None:
    recorded = replace(
        analysis("2.13.0", "s12_dtype"), losses=("the log ends early",), notes=("a note",)
    )
    page = Page(recorded.to_html())
    assert "1 part of the record could not be read: the log ends early" in page.all("p", "severe")
    assert page.all("p", "note") == ["Lost the log ends early", "Note a note"]


def test_recorded_text_stays_text(analysis: Analyses) -> None:
    text = hostile(analysis("2.13.0", "r01_bert_varlen"), 3 * len(TEXTS)).to_html()
    page = Page(text)
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]", text
    )
    text.encode("utf-8")
    assert len(page.all("script")) == 1
    assert len(text.encode()) <= 300_000
    shown = page.all("main")[0]
    for expected in (
        "<script>alert(1)</script>",
        r"\u202egnp.exe\u2066",
        r"\u001b[31mred\u0007\u0000",
        r"\ud800",
    ):
        assert expected in shown
    assert "{{ 7 * 7 }}" in shown
    assert "x" * 2001 not in text


@pytest.mark.slow
def test_thousands_of_compiles_are_bounded(analysis: Analyses) -> None:
    text = hostile(analysis("2.13.0", "r01_bert_varlen"), 2000).to_html()
    page = Page(text)
    assert len(page.all("tr")) < 300
    assert len(page.attributes("g")) <= 240
    assert len(page.all("article")) < 100
    assert len(text.encode()) <= 300_000


def test_300_functions_with_long_names_are_bounded(
    analysis: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"module_{index}_{'very_long_name_' * 20}" for index in range(300)]
    monkeypatch.setattr("hostile.TEXTS", names)
    text = hostile(analysis("2.13.0", "r01_bert_varlen"), 300).to_html()
    assert len(text.encode()) <= 300_000
    assert "more are in the JSON" in text


def test_a_list_too_long_for_the_page_is_named_with_the_command(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s12_dtype")
    text = replace(recorded, dynamic_sources=f"L['{'x' * 500_000}']:0").to_html()
    assert len(text.encode()) <= 300_000
    assert "characters are too long for this page: <code>pgo-advisor env</code> prints it." in text


def test_what_is_copied_is_exact_where_what_is_shown_is_not(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s12_dtype")
    name = "L['\u202ex']"
    listed_alone = replace(recorded, dynamic_sources=name)
    page = Page(listed_alone.to_html())
    exact = next(a["data-copy"] for a in page.attributes("button") if "data-copy" in a)
    assert exact == listed_alone.env("shell").rstrip()
    assert "\u202e" in exact
    assert page.raw("pre")[0] == exact.replace("\u202e", "\\u202e")


def test_a_profile_alone_predicts_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    profile = tmp_path_factory.mktemp("pgo") / "profile.txt"
    profile.write_text("hash(53dcf75c)/app/f.py:2:f:\n  L['x']: tensor size=[?, 3] stride=[3, 1]\n")
    page = Page(pgo_advisor.analyze(profile, torch_version="2.13").to_html())
    assert page.all("h1") == ["1 input varied"]
    assert page.raw("pre")[0] == "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\""
    assert not page.all("table")
    assert not page.all("b", "chip")


@pytest.mark.parametrize("evil", [False, True])
def test_the_notebook_form_changes_nothing_around_it(analysis: Analyses, evil: bool) -> None:
    recorded = analysis("2.13.0", "r01_bert_varlen")
    page = Page((hostile(recorded, 30) if evil else recorded)._repr_html_())
    assert {tag for tag, _ in page.elements} <= {
        *("style", "div", "p", "b", "pre", "code", "span", "ul", "li"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    selectors = re.findall(r"([^{}]+)\{", page.raw("style")[0])
    assert selectors
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".pgo-advisor-answer")
    assert all(set(attributes) <= {"class", "title"} for _, attributes in page.elements)


def row(frame: str, cause: str, start: float | None, seconds: float, **more: Any) -> CompileRow:
    fate = None if cause == FIRST else Fate.stays
    return CompileRow(
        0, "0/0", "", frame, cause, "", "", 0, start, seconds, (seconds, 0, 0, 0, 0), fate
    )._replace(**more)


def test_the_timeline_is_to_scale() -> None:
    [picture] = timelines(
        [
            row("f", FIRST, 100.0, 2.0),
            row("g", FIRST, 103.0, 1.0),
            row("f", "tensor size", 105.0, 5.0, fate=Fate.goes),
        ]
    )
    assert picture.seconds == 10.0
    assert [
        (lane.label, [(bar.x, bar.width, bar.css) for bar in lane.bars]) for lane in picture.lanes
    ] == [
        ("f", [(0.0, 20.0, "needed"), (50.0, 50.0, "goes")]),
        ("g", [(30.0, 10.0, "needed")]),
        ("with the advice", [(0.0, 20.0, "needed"), (30.0, 10.0, "needed")]),
    ]
    assert [(tick.x, tick.label) for tick in picture.ticks] == [
        (0, "0"),
        (20, "2.0 s"),
        (40, "4.0 s"),
        (60, "6.0 s"),
        (80, "8.0 s"),
        (100, "10.0 s"),
    ]


def test_the_timeline_folds_what_is_too_much() -> None:
    rows = [row(f"f{index}", f"cause {index}", 1.0 + index, 20.0 - index) for index in range(12)]
    [picture] = timelines([*rows, row("f", FIRST, None, 1.0)])
    assert len(picture.lanes) == 9
    assert picture.lanes[-1].label == "4 more"
    assert picture.left_out == 1
    assert not picture.summed
    assert timelines([row("f", FIRST, None, 1.0)]) == []


def test_what_is_left_comes_earlier_by_what_went() -> None:
    rows = [
        row("f", FIRST, 0.0, 1.0),
        row("f", "tensor size", 1.0, 4.0, fate=Fate.goes),
        row("f", "tensor dtype", 6.0, 4.0),
    ]
    [picture] = timelines(rows)
    assert [(bar.x, bar.width) for bar in picture.lanes[-1].bars] == [(0.0, 10.0), (20.0, 40.0)]


def test_dense_compiles_are_summed() -> None:
    [picture] = timelines([row("f", FIRST, index / 1000, 0.0005) for index in range(20_000)])
    assert picture.summed
    assert sum(len(lane.bars) for lane in picture.lanes) <= 240
    assert picture.lanes[0].bars[0].title.startswith("20000 compiles, 10.0 s, needed")


def test_the_icicle_adds_up() -> None:
    rows = [
        row("f", FIRST, 0.0, 3.0),
        row("f", "tensor size", 1.0, 5.0, fate=Fate.goes),
        row("g", FIRST, 6.0, 2.0),
    ]
    picture = icicle(grouped(rows))
    assert picture is not None
    assert [(block.x, block.width, block.label) for block in picture.blocks if not block.level] == [
        (0.0, 80.0, "f"),
        (80.0, 20.0, "g"),
    ]
    for level in (1, 2, 3):
        assert sum(b.width for b in picture.blocks if b.level == level) == pytest.approx(100)
    assert [(block.css, block.width) for block in picture.blocks if block.level == 2] == [
        ("goes", 50.0),
        ("needed", 30.0),
        ("needed", 20.0),
    ]


@given(st.floats(1e-4, 1e7))
def test_ticks_are_few_and_round(end: float) -> None:
    found = ticks(end)
    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= end * 1.01
    assert f"{found[1]:e}"[0] in "125"


@given(st.lists(st.integers(0, 10**9)))
def test_sizes_are_in_order_and_within_the_picture(values: list[int]) -> None:
    dots = sizes(dict.fromkeys([*values, "j1"], 1))
    different = sorted(set(values))
    if len(different) < 3:
        assert dots == []
        return
    assert [dot.value for dot in dots] == sorted(dot.value for dot in dots)
    assert all(4 <= dot.x <= 96 for dot in dots)
    assert dots[0].labelled
    assert dots[0].value == different[0]
    assert dots[-1].labelled
    assert dots[-1].value == different[-1]


@given(st.text(), st.integers(10, 60))
def test_shortened_text_is_safe_and_short(text: str, most: int) -> None:
    shown = short(text, most)
    page = Page(shown)
    assert {tag for tag, _ in page.elements} <= {"span"}
    if len(text) > most:
        assert "title" in page.attributes("span")[0]


@pytest.mark.parametrize(
    ("outcome", "tried", "said"),
    [
        (Outcome.broke, True, "What was tried, and is not to be used as it stands"),
        (Outcome.no_help, True, "What was tried, and is not to be used as it stands"),
        (Outcome.broke, False, "What the run without advice shows; this was not tried"),
        (Outcome.held, True, None),
        (Outcome.less_than_predicted, True, None),
    ],
)
def test_advice_that_was_rejected_is_not_offered_without_a_word(
    analysis: Analyses, outcome: Outcome, tried: bool, said: str | None
) -> None:
    result = analysis("2.13.0", "s01_batch_dim")
    run = replace(
        measured(["x"]),
        outcome=outcome,
        way=Way.list,
        dynamic_sources=result.dynamic_sources if tried else "L['other']",
    )
    result = replace(result, measured=run)
    for text in (result.to_html(), result.to_markdown(), result.to_text(width=200)):
        assert ("not to be used as it stands" in text) == (said is not None and tried)
        assert ("was not tried" in text) == (said is not None and not tried)
        assert said is None or said in text
