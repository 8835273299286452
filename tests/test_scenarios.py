"""Advice applied to real programs on real PyTorch: the fast ones of tests/scenarios.

`python -m scripts.scenarios` does the same for all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import TESTS

from scripts.scenarios.score import score

pytestmark = pytest.mark.torch

PROGRAMS = [
    "s02_batch_and_seq",  # equal inputs, marked together
    "s04_zero_one",  # sizes 0 and 1; the option of unbacked sources
    "s07_graph_break_resume",  # resume functions: the list only
    "s08_module_int_attr",  # an int of a module
    "s10_user_branch",  # a branch on the size
    "s12_dtype",  # nothing to mark
    "s20_recompile_limit",  # the limit was hit
    "s21_name_collision",  # an entry that reaches another function
    "t06_dict_odd_keys",  # names that have to be escaped
    "t12_method_plain_class",  # an int of a plain object
    "t18_add_both_vary",  # marking one alone would end the program
    "t37_numpy_input",  # a wrapped name
    "t52_three_regions_one_name",  # a function that pins what another one leaves free
    "u07_flags_and_none",  # sizes among changes of structure
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_advice_does_what_it_says(name: str) -> None:
    result = score(
        sys.executable, Path(TESTS / "scenarios" / f"{name}.py"), leave_out=False, marks=True
    )
    assert result.error == ""
    assert result.expected is not None
    assert result.base == result.expected["base"]
    assert result.ours == result.expected["best"]
    assert set(result.broken) <= {"builtin"}, (
        "PyTorch's own suggestion may end a program, ours may not"
    )
    assert result.inside
    assert result.marked in (None, result.ours)
    if result.expected["unbacked"] is not None:
        assert result.unbacked == result.expected["unbacked"]
