"""The snippet is Python whatever the trace holds, and says where its lines go."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
from conftest import recorded
from hostile import hostile
from hypothesis import given
from hypothesis import strategies as st

from pgo_advisor.analysis import Analysis
from pgo_advisor.render.text import one_line, visible

Analyses = Callable[[str, str], Analysis]


@pytest.mark.parametrize("name", recorded("2.13.0"))
def test_snippets_are_python_that_only_marks(analysis: Analyses, name: str) -> None:
    for statement in ast.parse(analysis("2.13.0", name).snippet()).body:
        if isinstance(statement, ast.Import):
            assert ast.unparse(statement) == "import torch._dynamo"
        else:
            if isinstance(statement, ast.If):
                assert re.fullmatch(r"\w+ is not None", ast.unparse(statement.test))
                [statement] = statement.body
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            assert ast.unparse(statement.value.func).startswith(
                ("torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic")
            )


def test_a_mark_waits_for_its_tensor(analysis: Analyses) -> None:
    assert (
        "\nif mask is not None: torch._dynamo.mark_dynamic(mask, 0)"
        in analysis("2.13.0", "u07_flags_and_none").snippet()
    )
    # cache[1] is read by one of the layers only
    layers = analysis("2.13.0", "u61_cache_by_layer")
    snippet = layers.snippet()
    assert "\n#     torch._dynamo.mark_dynamic(cache[1], 0) # seen: 4, 5" in snippet
    assert "\ntorch._dynamo.mark_dynamic(x, 0)  # seen: 2, 3" in snippet
    assert "not every call read it" in layers.to_text()
    assert "    torch._dynamo.mark_dynamic(cache[1], 0)" not in layers.to_text()


def test_equal_inputs_are_named_as_such(analysis: Analyses) -> None:
    snippet = analysis("2.13.0", "s02_batch_and_seq").snippet()
    assert snippet.count("mark all of them or none") == 2
    assert "s02_batch_and_seq.py:13" in snippet
    assert "m(ids, torch.ones(b, s))" in snippet


def test_bounds_are_a_comment_only(analysis: Analyses) -> None:
    lines = analysis("2.13.0", "s01_batch_dim").snippet().splitlines()
    assert all(line.startswith("#") for line in lines if "min=" in line)


def test_hostile_names_stay_in_comments(analysis: Analyses) -> None:
    snippet = hostile(analysis("2.13.0", "s10_user_branch"), 3).snippet()
    for statement in ast.parse(snippet).body:
        assert isinstance(statement, ast.Import | ast.Expr)


@given(st.text())
def test_visible_text_has_no_control_or_direction_characters(text: str) -> None:
    shown = visible(text)
    assert all(char in "\t\n" or char.isprintable() for char in shown)
    assert not set(shown) & set("\u202e\u2066\u200b\ufeff\x1b\x07\ud800")
    assert "\n" not in one_line(text)
    shown.encode("utf-8")


@given(st.text(min_size=50), st.integers(10, 40))
def test_long_text_is_cut(text: str, most: int) -> None:
    assert len(visible(text, most)) <= 2 * most
