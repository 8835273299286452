"""Guard-failure texts.

`fixtures/causes/recorded.json` holds texts that PyTorch wrote, with how they were provoked; what they must
say was written down from the provoking programs. File names in them were shortened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from growth import is_linear
from hypothesis import given
from hypothesis import strategies as st

from pgo_advisor.dynamo.guard_failures import Cause, CauseKind, parse_failure, parse_failures

RECORDED = json.loads((Path(__file__).parent / "fixtures/causes/recorded.json").read_text())
ZERO_ONE = (
    "  # return x * 2  # app/f.py:4 in f (user code shown is first use of this value--the guard "
    "itself is not due user code but due to 0/1 specialization in the framework; to avoid "
    "specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))"
)


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['release']}-{case['how']}")
def test_recorded(case: dict[str, Any]) -> None:
    failure = parse_failure(case["text"])
    cause = failure.cause
    assert failure.text == case["text"]
    assert failure.against == case["text"].split(":")[0]
    assert (cause.kind.value, cause.source, cause.dim, cause.expected, cause.actual) == (
        case["kind"],
        case["source"],
        case["dim"],
        case["expected"],
        case["actual"],
    )


# Wordings of releases or situations that the recordings lack, from the sources of the releases.
COMPOSED = [
    # 2.6: names keep L[…], bool and None are compared by identity
    ("tensor 'L['x']' size mismatch at index 1. expected 3, actual 4", "tensor-size", "L['x']"),
    ("___check_obj_id(L['self'].training, 7685664)", "bool-value", "L['self'].training"),
    ("___check_obj_id(L['f'], 139)", "object-identity", "L['f']"),
    ("___check_type_id(L['x'], 94)", "object-type", "L['x']"),
    ("___check_type_id(x, 9), type=<class 'torch.Tensor'>", "tensor-type", "L['x']"),
    ("___check_type_id(x, 9), type=<class 'NoneType'>   (HINT: type N)", "none-value", "L['x']"),
    ("___check_obj_id(x, 9), type=<class 'bool'>", "bool-value", "L['x']"),
    ("__math_isnan(L['k'])", "float-value", "L['k']"),
    ("not __math_isnan(L['k'])  # implicit guard for float input due", "float-value", "L['k']"),
    ("__numpy_isnan(L['k'])", "constant-value", "L['k']"),
    ("(type(k) is complex and __numpy_isnan(k))", "constant-value", "L['k']"),
    ("L['t'].data_ptr() == 93", "object-identity", "L['t']"),
    ("___dict_version(L['d']) == 7", "dict-keys", "L['d']"),
    ("___key_to_id(L['d']) == ['a']", "dict-keys", "L['d']"),
    ("list(L['d'].keys()) == ['a', 'b']", "dict-keys", "L['d']"),
    ("list(dict.keys(d)) == ['a', 'b']", "dict-keys", "L['d']"),
    ("__check_obj_id(list(dict.keys(d))[0], 7)", "dict-keys", "L['d']"),
    ("___dict_contains('a, b', d)", "dict-keys", "L['d']"),
    ("not set.__contains__(s, 'x')", "dict-keys", "L['s']"),
    ("set.__len__(s) == 2", "container-length", "L['s']"),
    ("frozenset.__len__(s) == 2", "container-length", "L['s']"),
    ("IndexError on l[2]", "container-length", "L['l'][2]"),
    ("list index out of range", "container-length", None),
    ("not d['not l']", "container-length", "L['d']['not l']"),
    ("not ___dict_contains('forward', m.__dict__)", "attribute-presence", "L['m']"),
    ("hasattr(o, 'q')", "attribute-presence", "L['o']"),
    ("'A' object has no attribute 'q'", "attribute-presence", None),
    ("'NoneType' object has no attribute 'size'", "none-value", None),
    ("'int' object has no attribute 'size'", "tensor-type", None),
    ("not a tensor - grad field is accessed p", "tensor-type", "L['p']"),
    ("expected type of 'x' to be a tensor type, but found a different type", "tensor-type", "L['x']"),
    # x product of sizes against 2**31
    ("O.size()[1]*k.size()[1] <= 2147483647  # (_inductor/codegen/simd.py:9 in f)", "index-width", "L['O']"),
    ("16*x.size()[0] < 2147483648", "index-width", "L['x']"),
    ("2 <= x.size()[0] <= 2147483647", "symbolic-range", "L['x']"),
    ("x is not None", "none-value", "L['x']"),
    ("G['__x_weakref_0']() is not None", "weakref-dead", "G['__x_weakref_0']()"),
    ("tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1",
     "tensor-device", "L['x']"),
    ("tensor 'x' requires_grad mismatch. expected requires_grad=1", "tensor-requires-grad", "L['x']"),
    ("x.raw_repr() == DispatchKeySet(CPU).raw_repr()", "tensor-dispatch-keys", "L['x']"),
    ("utils_device.CURRENT_DEVICE == device(type='cpu')", "global-state", None),
    ("torch.autograd.forward_ad._current_level == -1", "global-state", None),
    ("___check_global_state() against {}", "global-state", None),
    ("torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None", "global-state", None),
    ("check_overlapping(overlapping=[L['x'], L['y']], non_overlapping=[])", "aliasing", None),
    ("Duplicate tensors found: [\"L['x']\", \"L['y']\"]", "aliasing", "L['x']"),
    ("___cow_tensor_matches(x, False)", "aliasing", "L['x']"),
    ("hasattr(x, '_dynamo_dynamic_indices') == False", "marking-changed", "L['x']"),
    ("((x._dynamo_dynamic_indices.issubset({0})) if hasattr(x, '_dynamo_dynamic_indices') else True)",
     "marking-changed", "L['x']"),
    ("((getattr(x, '_dynamo_shape_ids', None) == {0: 'b'}) if hasattr(x, '_dynamo_unbacked_indices')"
     " else True)", "marking-changed", "L['x']"),
    ("Cache line invalidated because L['m'] got deallocated", "entry-deleted", "L['m']"),
    ("BACKEND_MATCH failure: torch.compile detected different backend callables. If this is",
     "backend-changed", None),
    ("___check_metadata_139_c0/0", "tensor-type", None),
    ("torch._dynamo hit config.recompile_limit (8)", "recompile-limit", None),
    ("cache_size_limit reached with one_graph=True.", "recompile-limit", None),
    ("Shape guard failed with values: 3,4", "symbolic-relation", None),
    ("k == 'recompile_limit reached'", "string-value", "L['k']"),
    ("k == np.float64(2.0)", "float-value", "L['k']"),
    ("k == -inf", "float-value", "L['k']"),
    ("k == <Color.RED: 'it's'>", "constant-value", "L['k']"),
    ("d['a  # b (HINT: '] == 2  # f(d)  # app/f.py:3 in f", "int-value", "L['d']['a  # b (HINT: ']"),
    ("y.size()[0] == 3*x.size()[0]", "symbolic-relation", "L['y']"),
    ("k == j + 1  # f(k)  # app/f.py:3 in f (_dynamo/t.py:5 in evaluate_expr)",
     "symbolic-relation", "L['k']"),
    ("x.size()[0] != 8 or y.size()[1] != 4  # exclusion guard for automatic dynamic",
     "symbolic-relation", "L['x']"),
    ("((x.size()[0] % 8)) == 0", "divisibility", "L['x']"),
    ("x.storage_offset() <= 4", "symbolic-range", "L['x'].storage_offset()"),
    ("2 <= x.size()[0]", "zero-one", "L['x']"),
    ("2 <= x.size()[0] <= 9223372036854775806" + ZERO_ONE, "zero-one", "L['x']"),
    ("2 <= x.size()[0] <= 16" + ZERO_ONE, "symbolic-range", "L['x']"),
    ("2 <= k", "symbolic-range", "L['k']"),
    ("2 <= x.size()[0]  # f(x)  # app/f.py:3 in f (_dynamo/t.py:5 in g)", "symbolic-range", "L['x']"),
    ("", "unknown", None),
    ("Unexpected recompilation: runtime guards failed even though", "unknown", None),
    ("___some_new_guard(x)", "unknown", None),
    ("L['x'] == [1, 2", "constant-value", "L['x']"),
    ("L['x == 2", "unknown", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "source"), COMPOSED, ids=lambda value: str(value)[:40])
def test_composed(body: str, kind: str, source: str | None) -> None:
    cause = parse_failure(f"0/0: {body}").cause
    assert (cause.kind.value, cause.source) == (kind, source)


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("0/3: x is None", "0/3"),
        ("!1/0/3: x is None", "!1/0/3"),
        ("[1/]0/3: x is None", "[1/]0/3"),
        ("None: x is None", None),
        ("x is None", None),
    ],
)
def test_the_graph_that_refused(text: str, against: str | None) -> None:
    failure = parse_failure(text)
    assert failure.against == against
    assert failure.cause == Cause(
        CauseKind.none_value, "L['x']", expected="None", guard="x is None"
    )


def test_a_relation_stands_for_what_it_names_first() -> None:
    cause = parse_failure("0/1: 3 + 2*x.size()[0] > d['y'].stride()[1] + k").cause
    assert (cause.source, cause.dim) == ("L['x']", 0)
    assert cause.guard == "3 + 2*x.size()[0] > d['y'].stride()[1] + k"


def test_a_bound_names_the_line_that_set_it_and_not_the_first_use() -> None:
    branch = " and if x.shape[0] > 16:  # big  # app/f.py:9 in g (_dynamo/t.py:5 in evaluate_expr)"
    cause = parse_failure("0/1: 2 <= x.size()[0] <= 16" + ZERO_ONE + branch).cause
    assert cause.user_line == "if x.shape[0] > 16:  # big"
    assert cause.user_location == "app/f.py:9 in g"


def test_the_user_stack_tells_the_line_where_the_guard_does_not() -> None:
    stack = (
        '\nUser stack trace:\n  File "/a/f.py", line 3, in f\n    g(x)'
        '\n  File "/a/g.py", line 8, in g\n    return x + 1'
    )
    cause = parse_failure(f"0/0: tensor 'x' rank mismatch. expected 1, actual 2{stack}").cause
    assert (cause.actual, cause.user_line) == ("2", "return x + 1")
    assert cause.user_location == "/a/g.py:8 in g"


def test_a_parameter() -> None:
    [text] = [case["text"] for case in RECORDED if "Guard failed on a parameter" in case["text"]]
    assert parse_failure(text).cause.on_parameter
    assert not parse_failure(text.partition(". Guard failed")[0]).cause.on_parameter


def test_fields_of_the_global_state() -> None:
    cause = parse_failure("0/0: GLOBAL_STATE changed: grad_mode autocast(cpu)_enabled ").cause
    assert (cause.kind, cause.actual) == (
        CauseKind.global_state,
        "grad_mode, autocast(cpu)_enabled",
    )


def test_payloads() -> None:
    rank = "0/0: tensor 'x' rank mismatch. expected 1, actual 2"
    assert [f.text for f in parse_failures(json.dumps([rank, "0/1: k == 2"]))] == [
        rank,
        "0/1: k == 2",
    ]
    assert [f.text for f in parse_failures(rank + "\n")] == [rank]
    assert [f.text for f in parse_failures("[1/]0/0: k == 2")] == ["[1/]0/0: k == 2"]
    assert parse_failures("[]") == parse_failures("") == []
    assert [f.text for f in parse_failures('{"a": 1}')] == ['{"a": 1}']
    assert len(parse_failures("[" * 100_000)) == 1


HOSTILE: list[Callable[[int], str]] = [
    lambda n: "x[" * 5 * n,
    lambda n: "'\\" * 5 * n,
    lambda n: "tensor '" + "x['" * 3 * n,
    lambda n: "type(" * 2 * n + "x" + ")" * 2 * n + " == 2",
    lambda n: "2 <= x" + "[x]" * 3 * n,
    lambda n: "k == 2" + "  # a.py" * n,
    lambda n: "k == 2  # " + "a:1 in" * 2 * n,
    lambda n: "k == j  # " + "(a:1 in " * n,
    lambda n: "Duplicate tensors found: [" + '"\\' * 5 * n,
    lambda n: "x.size()[0] == " + "+".join(["x.size()[0]"] * n),
]


@pytest.mark.slow
@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: str(body(1))[:20])
def test_time_is_linear(body: Callable[[int], str]) -> None:
    assert is_linear(lambda size: parse_failure(f"0/0: {body(size)}"), 1000)


@pytest.mark.slow
@given(st.text() | st.text(alphabet="'\"[](){}\\ #:,/.=<%0123456789xLG\n"))
def test_nothing_raises_and_the_text_stays(text: str) -> None:
    assert parse_failure(text).text == text
    assert parse_failure(f"0/0: {text}").text == f"0/0: {text}"
    assert [failure.text for failure in parse_failures(json.dumps([text]))] == [text]


def strip_local_scope(text: str) -> str:
    """What torch/_dynamo/guards.py does to every reason since 2.7."""
    return re.sub(r"L\[\s*['\"](.*?)['\"]\s*\]", r"\1", text)


# PyTorch itself damages a text in which something else ends in `L` before a quoted key.
names = st.from_regex(r"[a-z_][a-zA-Z0-9_]{0,8}[a-z0-9]", fullmatch=True).filter(
    lambda name: name not in {"and", "or", "not", "if", "else", "is", "in"}
)
keys = st.one_of(
    st.text().filter(lambda key: "L[" not in key),
    st.integers(),
    st.tuples(st.integers(), st.text().filter(lambda key: "L[" not in key)),
)
steps = st.one_of(names.map(lambda name: f".{name}"), keys.map(lambda key: f"[{key!r}]"))


@st.composite
def sources(draw: st.DrawFn) -> str:
    scope = draw(st.sampled_from("LG"))
    name = f"{scope}[{draw(names)!r}]" + "".join(draw(st.lists(steps, max_size=3)))
    wrapper = draw(
        st.sampled_from(["{}", "{}", "list.__getitem__({}, 0)", "___from_numpy({})", "{}.grad"])
    )
    return wrapper.replace("{}", name)


@pytest.mark.slow
@given(sources(), sources(), st.integers(0, 9), keys, st.booleans())
def test_round_trip(name: str, other: str, dim: int, value: object, stripped: bool) -> None:
    def parse(body: str) -> Cause:
        return parse_failure(f"0/0: {strip_local_scope(body) if stripped else body}").cause

    cause = parse(f"tensor '{name}' size mismatch at index {dim}. expected 3, actual 4")
    assert cause == Cause(CauseKind.tensor_size, name, dim, "3", "4")

    cause = parse(f"{f'{name} == {value!r}':<60}  # return x # y  # app/f.py:4 in f")
    kinds = {str: CauseKind.string_value, int: CauseKind.int_value}
    assert cause.kind is kinds.get(type(value), CauseKind.constant_value)
    assert (cause.source, cause.expected) == (name, repr(value))
    assert (cause.user_line, cause.user_location) == ("return x # y", "app/f.py:4 in f")

    cause = parse(f"{name}.size()[{dim}] == {other}.size()[0]  # duck sizing added this equality")
    assert cause.kind is CauseKind.equal_dims
    assert (cause.source, cause.dim) == (name, dim)

    assert parse(f"___dict_contains({value!r}, {name})").source == name
    assert parse(f"len({name}) == 2").source == name


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("(1.0 + clip) == 1.19", "0.19"),
        ("(1.0 - clip) == 0.82", "0.18"),
        ("2.0*clip == 0.02", "0.01"),
        ("(clip**2) == 0.04", None),  # two floats fulfil it
    ],
)
def test_an_equality_of_an_expression_in_one_float_is_its_value(
    guard: str, expected: str | None
) -> None:
    text = f"0/2: {guard}  # (fx/passes/_tensorify_python_scalars.py:429 in _tensorify_impl)"
    cause = parse_failure(text).cause
    assert (cause.kind, cause.source) == (CauseKind.float_value, "L['clip']")
    assert cause.expected == expected


@pytest.mark.parametrize(
    "guard", ["a*b + 1.0 == 2.0", "(x.size()[0] + 1.0) == 3.0", "(a + 1) == 3"]
)
def test_other_equalities_are_relations(guard: str) -> None:
    assert parse_failure(guard).cause.kind is CauseKind.symbolic_relation
