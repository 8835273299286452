"""Relations are evaluated as Python would, and never run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgo_advisor.dynamo.shape_guards import MAX_LENGTH, parse_relation

NAMES = ["s77", "L['x'].size()[0]", "L['d']['a (b), \"c\"'].size()[12]", "G['n']", "L['self'].step"]

numbers = st.integers(0, 200).map(str)
names = st.sampled_from(NAMES)


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    binary = st.tuples(inner, operators, inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    calls = st.tuples(st.sampled_from(["Max", "Min"]), inner, inner).map(
        lambda p: f"{p[0]}({p[1]}, {p[2]})"
    )
    return binary | calls


terms = st.recursive(numbers | names, combine, max_leaves=6)
comparisons = st.tuples(terms, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), terms)
values = st.fixed_dictionaries({name: st.integers(0, 50) for name in NAMES})


@given(comparisons, values)
def test_evaluates_as_python_does(
    parts: tuple[str, str, str], given_values: dict[str, int]
) -> None:
    text = " ".join(parts)
    relation = parse_relation(text)
    assert relation is not None
    python = text.replace("Max(", "max(").replace("Min(", "min(")
    for name, value in given_values.items():
        python = python.replace(name, str(value))
    try:
        expected: bool | None = eval(python)
    except ZeroDivisionError:
        expected = None
    assert relation.holds(given_values) is expected


@pytest.mark.parametrize(
    ("text", "true_for", "false_for"),
    [
        ("Eq(s0, s1)", {"s0": 4, "s1": 4}, {"s0": 4, "s1": 5}),
        ("Ne(Mod(s0, 8), 0)", {"s0": 9, "s1": 0}, {"s0": 16, "s1": 0}),
        ("((s0//2)) <= s0", {"s0": 3, "s1": 0}, {"s0": -3, "s1": 0}),
        ("2 <= s0 <= 512", {"s0": 512, "s1": 0}, {"s0": 513, "s1": 0}),
        ("(-s0) + 2*s1**2 == 0", {"s0": 18, "s1": 3}, {"s0": 18, "s1": 4}),
        ("s0 > 3 and s1 != 0 or s0 == 1", {"s0": 4, "s1": 1}, {"s0": 4, "s1": 0}),
    ],
)
def test_what_pytorch_prints(
    text: str, true_for: dict[str, int], false_for: dict[str, int]
) -> None:
    relation = parse_relation(text)
    assert relation is not None
    assert relation.holds(true_for) is True
    assert relation.holds(false_for) is False


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x') == 0 and 'a' == 'a'",
        "L['self'].config is L['a']",
        "s0 ==",
        "[x for x in y] == 1",
        "(" * 5000 + "s0" + ")" * 5000,
        "s0 + " * MAX_LENGTH + "1 == 0",
        "\0",
        "s0 == 'text'",
    ],
)
def test_what_is_no_relation(text: str) -> None:
    relation = parse_relation(text)
    assert relation is None or relation.holds({}) is None


def test_a_huge_power_is_not_computed() -> None:
    relation = parse_relation("9**9**9 == s0")
    assert relation is not None
    assert relation.holds({"s0": 1}) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("L['a'].size()[0] == L['b'].size()[1]", ("L['a'].size()[0]", "L['b'].size()[1]")),
        ("Eq(s0, s1)", ("s0", "s1")),
        ("s0 == 2*s1", None),
        ("s0 == 4", None),
        ("s0 <= s1", None),
        ("s0 == s1 == s2", None),
    ],
)
def test_equal_names(text: str, names: tuple[str, str] | None) -> None:
    relation = parse_relation(text)
    assert relation is not None
    assert relation.equal_names() == names


@pytest.mark.parametrize(
    ("text", "is_bound"),
    [
        ("2 <= L['x'].size()[0]", True),
        ("1 < s0", True),
        ("s0 > 1", True),
        ("s0 >= 2", True),
        ("3 <= s0", False),
        ("2 <= s0 <= 512", False),
        ("s0 > 2", False),
        ("2 <= s0 - s1", False),
    ],
)
def test_lower_bounds_of_every_dynamic_size(text: str, is_bound: bool) -> None:
    relation = parse_relation(text)
    assert relation is not None
    assert relation.is_lower_bound() is is_bound
