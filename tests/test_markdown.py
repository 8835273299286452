"""The comment for a pull request, read by a Markdown parser: what it says, and that names stay names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from conftest import Trace
from hostile import TEXTS, hostile
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.render.markdown import LIMIT, MARKER
from pgo_advisor.render.markdown_text import code, fenced, prose
from pgo_advisor.render.text import one_line, visible

Analyses = Callable[[str, str], Analysis]

GITHUB = MarkdownIt("commonmark").enable("table").enable("strikethrough")
TAGS = {"<details>", "<details open>", "</details>"}
# What GitHub makes a mention, a reference, a link, an emoji, math or HTML of, outside of code.
LIVELY = re.compile(
    r"[@#/\\_*~`<>\[\]$&=]|:\w+:|www\.|GH-\d|\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b", re.IGNORECASE
)
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff]"
)


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()


def shown(tokens: list[Token]) -> str:
    """What a reader sees of inline text and code."""
    return "".join(
        "\n" if token.type in ("softbreak", "hardbreak") else token.content
        for token in inline(tokens)
    )


def check_harmless(comment: str) -> None:
    tokens = GITHUB.parse(comment)
    for token in tokens:
        assert token.type not in {
            "heading_open",
            "blockquote_open",
            "code_block",
            "hr",
            "lheading_open",
        }
        assert token.type not in {"ordered_list_open"}
        if token.type == "html_block":
            for line in filter(None, token.content.splitlines()):
                assert (
                    line in TAGS
                    or line == MARKER
                    or re.fullmatch(r"<summary>[\w ():]+</summary>", line)
                )
    for token in inline(tokens):
        assert token.type in {"text", "code_inline", "strong_open", "strong_close", "softbreak"}
        if token.type == "text":
            assert not LIVELY.search(token.content), token.content
    assert not UNSEEN.search(comment)


def fences(comment: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for token in GITHUB.parse(comment):
        if token.type == "fence":
            found.setdefault(token.info, []).append(token.content)
    return found


def tables(comment: str) -> list[list[list[str]]]:
    """Each table as rows of cells."""
    found: list[list[list[str]]] = []
    tokens = GITHUB.parse(comment)
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(shown([tokens[index + 1]]))
    return found


def test_batch_and_sequence(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s02_batch_and_seq")
    comment = recorded.to_markdown()
    check_harmless(comment)
    lines = comment.split("\n")
    assert lines[0] == MARKER
    assert lines[1].startswith("**Save 333 of 543 ms of compiling: 3 → 1 compiles.** ")
    blocks = fences(comment)
    assert blocks["sh"] == [
        "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['ids']:0,L['ids']:1,L['mask']:0,L['mask']:1\"\n"
    ]
    assert blocks["python"] == [recorded.snippet()]
    frames, recompiles = tables(comment)
    assert frames[1][1] == "3 → 1"
    assert frames[1][4] == "marking helps"
    assert [row[0] for row in recompiles[1:]] == sorted(
        ["0/1", "0/2"], key=lambda id_: -seconds(recorded, id_)
    )
    assert all(row[4] == "goes" for row in recompiles[1:])
    # the answer comes before everything that is folded
    assert comment.index("```python") < comment.index("<details>")
    assert comment.count("<details") == comment.count("</details>") == 2


def seconds(recorded: Analysis, compile_id: str) -> float:
    return next(r.seconds for r in recorded.recompiles if r.compile_id == compile_id)


def test_what_marking_cannot_cure_is_unfolded(analysis: Analyses) -> None:
    comment = analysis("2.13.0", "s12_dtype").to_markdown()
    check_harmless(comment)
    assert comment.split("\n")[1].startswith(
        "**Declaring inputs dynamic does not help here.** 3 compiles took "
    )
    assert "<details open>\n<summary>Needs a change of code (1)</summary>" in comment
    assert "A tensor changes its dtype: `L['x'] (torch.float32, " in comment
    assert fences(comment) == {}


def test_one_compile_is_nothing_to_do(trace: Trace) -> None:
    folder = trace("2.13.0", "m01_two_ranks")
    comment = pgo_advisor.analyze(next(folder.glob("*_rank_0_*"))).to_markdown()
    assert comment.split("\n")[1].startswith("**All is well.** 1 compile took ")
    assert "<details" not in comment


def test_a_range_is_said_to_be_one(analysis: Analyses) -> None:
    comment = analysis("2.13.0", "s20_recompile_limit").to_markdown()
    # eight graphs and the limit were recorded; what came after was not
    lines = comment.split("\n")
    assert lines[1].startswith("**Worse:** Runs uncompiled once the recompile limit is hit")
    assert lines[3].startswith("**Save up to ")
    assert "9 → 1 or more compiles.**" in lines[3]
    assert "Not exact: no recorded compile had these sizes dynamic at once." in lines[3]
    assert "How sure the prediction is" in comment


def test_ranks_have_a_column(analysis: Analyses) -> None:
    comment = analysis("2.13.0", "m01_two_ranks").to_markdown()
    assert tables(comment)[1][1][:2] == ["0/1", "1"]


def test_recorded_text_stays_text(analysis: Analyses) -> None:
    evil = hostile(analysis("2.13.0", "r01_bert_varlen"), len(TEXTS))
    comment = evil.to_markdown()
    check_harmless(comment)
    for table in tables(comment):
        assert len({len(row) for row in table}) == 1
    assert len(tables(comment)) == 3  # measured, functions, recompiles
    assert r"\u202egnp.exe\u2066" in comment


@pytest.mark.slow
@pytest.mark.parametrize("number", [100, 3000])
def test_a_long_comment_keeps_the_advice_and_fits(analysis: Analyses, number: int) -> None:
    recorded = analysis("2.13.0", "r01_bert_varlen")
    evil = hostile(recorded, number)
    frames = (*recorded.frames, *evil.frames)
    comment = replace(evil, advice=recorded.advice, frames=frames).to_markdown()
    check_harmless(comment)
    assert len(comment.encode("utf-16-le")) // 2 <= LIMIT
    assert len(comment) > 40_000
    assert fences(comment)["sh"][0] == recorded.env("shell")
    assert "maybe_mark_dynamic(kwargs" in fences(comment)["python"][0]
    html = [token.content for token in GITHUB.parse(comment) if token.type == "html_block"]
    opened, closed = ("".join(html).count(tag) for tag in ("<details", "</details>"))
    assert opened == closed == 8
    assert re.search(r"and \d+ more: see the HTML or JSON output", comment)


def test_a_list_too_long_for_a_comment_is_named_instead(analysis: Analyses) -> None:
    recorded = analysis("2.13.0", "s02_batch_and_seq")
    long = replace(recorded, dynamic_sources=",".join(f"L['{n:0>200}']" for n in range(400)))
    comment = long.to_markdown()
    assert len(comment) <= LIMIT
    assert "Too long for a comment: `pgo-advisor env` prints the list." in comment
    assert fences(comment)["python"] == [recorded.snippet()]


texts = (
    st.text()
    | st.text(st.sampled_from("a1 `|\\@#<>&;:._*[]()!-=$~\n\t/'\""))
    | st.sampled_from(TEXTS)
)


@given(texts)
@example("a|b")
@example("`|``")
@example("|")
@example(" `a` ")
def test_code_is_code_also_in_a_table(text: str) -> None:
    expected = one_line(text, 160)
    table = f"| a | b |\n|---|---|\n| {code(text)} | end |\n"
    tokens = GITHUB.parse(table)
    cells = [token for token in tokens if token.type == "inline"]
    assert [cell.content for cell in cells[:2]] == ["a", "b"]
    assert len(cells) == 4
    assert cells[3].content == "end"
    assert "".join(shown([cells[2]]).split()) == "".join(expected.split())
    for token in inline([cells[2]]):
        assert token.type == "code_inline" or not token.content.strip("| ")


@given(texts)
@example("1. item")
@example("(drop_last, pad to 2), 2 <= x.size()[0] <= 512; see TORCH_X (2.8).")
def test_prose_keeps_the_words_and_nothing_lively(text: str) -> None:
    rendered = prose(text, 200)
    check_harmless(f"- {rendered}\n")
    check_harmless(f"{rendered}\n")
    assert " ".join(shown(GITHUB.parse(f"- {rendered}")).split()) == " ".join(
        one_line(text, 200).split()
    )


def test_prose_reads_well() -> None:
    assert prose("pad to 2 (drop_last, or so); then 2 <= x.size()[0] <= 512, or 1.") == (
        "pad to 2 (`drop_last`, or so); then `2 <= x.size()[0] <= 512`, or 1."
    )


@given(texts)
def test_nothing_closes_a_fence(text: str) -> None:
    tokens = GITHUB.parse(fenced(text, "sh") + "\nafter\n")
    assert [token.type for token in tokens] == [
        "fence",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]
    assert tokens[0].info == "sh"
    content = visible(text).rstrip()
    assert tokens[0].content.rstrip() == content.rstrip()


def test_at_most_thirty_lines_are_not_folded(trace: Trace) -> None:
    for name in ("m02_layer_caches", "u11_update_per_parameter", "t39_mask_ids_positions"):
        text = pgo_advisor.analyze(trace("2.13.0", name)).to_markdown()
        outside = re.sub(r"<details.*?</details>\n*", "", text, flags=re.DOTALL)
        assert len(outside.splitlines()) <= 30
        assert "\ntorch._dynamo." in text
