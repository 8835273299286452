"""Which mark for which input, from recordings; the reasons are in FACTS of PyTorch's behaviour.

- mark_dynamic raises where a guard narrows the range, for sizes 0 and 1, and for a pinned dim.
- All members of an equality are marked alike, or the program ends.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pgo_advisor.analysis import Analysis
from pgo_advisor.report import Remedy

Analyses = Callable[[str, str], Analysis]


def remedies(analysis: Analysis) -> dict[tuple[str, int | None], Remedy]:
    return {(advice.pair.source, advice.pair.dim): advice.remedy for advice in analysis.advice}


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_a_free_dim_is_marked_firmly(analysis: Analyses, version: str) -> None:
    assert remedies(analysis(version, "s01_batch_dim")) == {("L['x']", 0): Remedy.mark_dynamic}


@pytest.mark.parametrize("version", ["2.7.1", "2.13.0", "2.15.0"])
def test_equal_dims_are_marked_together(analysis: Analyses, version: str) -> None:
    result = analysis(version, "s02_batch_and_seq")
    assert set(remedies(result).values()) == {Remedy.mark_dynamic}
    together = {
        (advice.source, advice.dim): tuple(other.pair for other in advice.together)
        for advice in result.advice
    }
    assert together == {
        ("L['ids']", 0): (("L['mask']", 0),),
        ("L['mask']", 0): (("L['ids']", 0),),
        ("L['ids']", 1): (("L['mask']", 1),),
        ("L['mask']", 1): (("L['ids']", 1),),
    }


def test_sizes_zero_and_one_are_marked_softly(analysis: Analyses) -> None:
    assert set(remedies(analysis("2.13.0", "s04_zero_one")).values()) == {Remedy.maybe_mark_dynamic}


def test_a_branch_is_marked_softly(analysis: Analyses) -> None:
    (advice,) = analysis("2.13.0", "s10_user_branch").advice
    assert advice.remedy is Remedy.maybe_mark_dynamic
    assert "16" in advice.why_remedy


def test_what_was_never_a_symbol_is_marked_softly(analysis: Analyses) -> None:
    (advice,) = analysis("2.13.0", "s20_recompile_limit").advice
    assert advice.remedy is Remedy.maybe_mark_dynamic


def test_one_soft_member_makes_the_equal_ones_soft(analysis: Analyses) -> None:
    # BERT: 2 <= input_ids.size()[1] <= 512, and attention_mask has to equal it
    found = remedies(analysis("2.13.0", "r01_bert_varlen"))
    assert found["L['kwargs']['attention_mask']", 1] is Remedy.maybe_mark_dynamic


@pytest.mark.parametrize(
    ("name", "source"), [("s03_int_arg", "L['k']"), ("s08_module_int_attr", "L['self'].step")]
)
def test_ints_are_for_the_list(analysis: Analyses, name: str, source: str) -> None:
    assert remedies(analysis("2.13.0", name)) == {(source, None): Remedy.dynamic_sources}


def test_inputs_of_resume_functions_are_for_the_list(analysis: Analyses) -> None:
    assert remedies(analysis("2.13.0", "s07_graph_break_resume")) == {
        ("L['x']", 0): Remedy.mark_dynamic,
        ("L['y']", 0): Remedy.dynamic_sources,
        ("L['z']", 0): Remedy.dynamic_sources,
    }


def test_an_entry_names_the_functions_that_it_also_touches(analysis: Analyses) -> None:
    result = analysis("2.13.0", "s21_name_collision")
    (advice,) = result.advice
    assert (advice.frames, advice.also_touches) == (("varying",), ("fixed",))
    assert any("fixed" in note for note in result.notes)


def test_many_alike_are_folded_into_one_entry(analysis: Analyses) -> None:
    result = analysis("2.13.0", "m02_layer_caches")
    assert len(result.advice) == 24
    assert len({advice.list_entry for advice in result.advice}) == 1


def test_a_function_that_pins_the_input_is_not_marked(analysis: Analyses) -> None:
    # t52: ragged(x) and steps(x) vary; steps loops over range(x.shape[0]), where a mark would raise
    (advice,) = analysis("2.13.0", "t52_three_regions_one_name").advice
    assert advice.frames == ("ragged",)
    assert set(advice.also_touches) == {"steps", "fixed"}
