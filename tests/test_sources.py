"""Source names: expected values by hand, and names that Dynamo itself printed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgo_advisor.dynamo.sources import (
    Attribute,
    Call,
    Item,
    NthItem,
    Source,
    parse,
    python_expression,
)


def rebuild(source: Source) -> str:
    """The name again from its parts, as Source.name in PyTorch puts it together."""
    scope = {"local": "L", "global": "G"}.get(source.kind)
    text = f"{scope}[{source.variable!r}]" if scope else source.variable
    for step in source.steps:
        match step:
            case Attribute(member, ""):
                text = f"{text}.{member}"
            case Attribute(member, function):
                text = f"{function}({text}, {member!r})"
            case Item(key, ""):
                text = f"{text}[{key}]"
            case Item(key, function):
                text = f"{function}({text}, {key})"
            case NthItem(position, ""):
                text = f"{text}[list(dict.keys({text}))[{position}]]"
            case NthItem(position, function):
                text = f"{function}({text}, list(dict.keys({text}))[{position}])"
            case Call("", ""):
                text = f"{text}()"
            case Call(function, ""):
                text = f"{function}({text})"
            case Call(function, argument):
                text = f"{function}({text}, {argument})"
    return text


EXPRESSIONS = {
    "L['x']": "x",
    "G['scale']": "scale",
    "L['batch']['ids']": 'batch["ids"]',
    "L['args'][1]": "args[1]",
    "L['kwargs']['attention_mask']": 'kwargs["attention_mask"]',
    "L['cache'][11][0]": "cache[11][0]",
    "L['self'].step": "self.step",
    "L['self']._modules['inner'].step": "self.inner.step",
    "L['self']._modules['layers']._modules['0']._parameters['weight']": "self.layers[0].weight",
    "L['self']._buffers['b']": "self.b",
    "list.__getitem__(L['l'], 0)": "l[0]",
    "tuple.__getitem__(L['t'], -1).grad": "t[-1].grad",
    "dict.__getitem__(L['d'], list(dict.keys(L['d']))[2])": "list(d.values())[2]",
    "L['d'][list(dict.keys(L['d']))[0]]['a']": 'list(d.values())[0]["a"]',
    "L['d'][(1, 'a b')]": "d[(1, 'a b')]",
    "L['d'][b'x']": "d[b'x']",
    "getattr(L['o'], 'ids')": "o.ids",
    "object.__getattribute__(L['o'], 'ids')": "o.ids",
    # No expression: Dynamo's own values, cells, view bases, calls, names that cannot be written.
    "L['___stack0']": None,
    "L['fn'].__closure__[0].cell_contents": None,
    "G['f'].__defaults__[0]": None,
    "L['x']._base": None,
    "L['x'].size()[0]": None,
    "___from_numpy(L['a'])": None,
    "___as_tensor(L['lr'])": None,
    "___tuple_iterator_getitem(L['it'], 0)": None,
    "dict(type(L['o']).__dict__)['w']": None,
    "G['ref']()": None,
    "L['.0']": None,
    "L['class']": None,
    "L['self']._modules['a-b']": None,
    "getattr(L['o'], 'we ird')": None,
    "L['d'][<Color.RED: 1>]": None,
    "L['d'][torch.float32]": None,
    # The keys asked for are another dict's.
    "L['d'][list(dict.keys(L['e']))[0]]": None,
    "random_value_0": None,
    "__import__('torch').x": None,
    "SYNTHETIC_LOCAL['x']": None,
    "<ephemeral: symint_visitor_fn>": None,
    "": None,
}


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS.items())
def test_python_expression(name: str, expression: str | None) -> None:
    assert python_expression(parse(name)) == expression
    assert rebuild(parse(name)) == name


def test_steps_from_the_inside_out() -> None:
    assert parse("___from_numpy(list.__getitem__(L['l'], 0).a).size()[1]") == Source(
        "___from_numpy(list.__getitem__(L['l'], 0).a).size()[1]",
        "local",
        "l",
        (
            Item("0", "list.__getitem__"),
            Attribute("a"),
            Call("___from_numpy"),
            Attribute("size"),
            Call(),
            Item("1"),
        ),
    )


def test_what_a_name_belongs_to() -> None:
    weight = parse("L['self']._modules['lin']._parameters['weight']")
    assert (weight.kind, weight.local_name) == ("local", "self")
    mean = parse("G['mean']")
    assert (mean.kind, mean.variable, mean.local_name) == ("global", "mean", None)


@pytest.mark.parametrize(
    "name",
    [
        "L['x'",
        "L['x']]",
        "L['x'])",
        "L['x'] ",
        "L['x']..a",
        "L['x'][]",
        "L['x']['a]",
        "f(L['x']",
        "L[x]",
        "x",
        "(0, L['x'])",
        "L['\udc80']",
        "L['\0']",
        "L['x'][(1]",
    ],
)
def test_what_is_not_understood_is_kept(name: str) -> None:
    assert parse(name) == Source(name, "other", name)


HUGE = [
    "L['x']" + ".a" * 50_000,
    "f(" * 50_000,
    "f(" * 30_000 + "L['x']" + ")" * 30_000,
    "dict.__getitem__(" * 3_000 + "L['x']" + ", list(dict.keys(L['x']))[0])" * 3_000,
    "L['x']" + "[list(dict.keys(L['x']))[0]]" * 4_000,
    "L['x']" + "[0" * 50_000,
    "L['x']" + "['a" * 33_000,
    "L['x" + "\\" * 100_000,
    "L['x'][" + "(" * 100_000,
    "L['x'][" + "-" * 100_000 + "1]",
    "a." * 50_000,
    "'" * 100_000,
    "L['" + "x" * 100_000 + "']",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE, ids=range(len(HUGE)))
def test_huge_names_take_no_time(name: str) -> None:
    start = time.process_time()
    python_expression(parse(name))
    # Some 0.1 s here; anything quadratic takes minutes.
    assert time.process_time() - start < 5


keys = (
    st.text(max_size=8)
    | st.text("'\"\\[](){}, :\n", max_size=8)
    | st.integers()
    | st.booleans()
    | st.binary(max_size=4)
    | st.tuples(st.integers(), st.text(max_size=4))
)


@given(st.text() | st.text("L['x']().,ab_0\\\"", max_size=30))
def test_any_text_is_read_and_kept(text: str) -> None:
    source = parse(text)
    assert source.name == text
    if source.kind == "other" or repr(source.variable) in text:
        assert rebuild(source) == text
    expression = python_expression(source)
    if expression is not None:
        ast.parse(expression, mode="eval")


@given(st.lists(keys, max_size=3), st.sampled_from(["", "list.__getitem__", "tuple.__getitem__"]))
@example(["q'uote", 'dq"', "both'\"", "back\\slash"], "")
def test_any_keys(path: list[object], function: str) -> None:
    name = "L['d']"
    for key in path:
        name = f"{function}({name}, {key!r})" if function else f"{name}[{key!r}]"
    source = parse(name)
    assert source.steps == tuple(Item(repr(key), function) for key in path)
    assert rebuild(source) == name
    # Evaluated on an object that records the keys, the expression asks for the same ones.
    expression = python_expression(source)
    assert expression is not None

    class Recorder:
        def __init__(self, asked: tuple[object, ...] = ()) -> None:
            self.asked = asked

        def __getitem__(self, key: object) -> Recorder:
            return Recorder((*self.asked, key))

    assert list(eval(expression, {"d": Recorder()}).asked) == path


PROGRAM = r"""
import enum, json, sys, numpy, torch
def x(): return torch.ones(3)
KEYS = json.loads(sys.argv[1])
class List(list): pass
class Dict(dict): pass
class Odd(enum.Enum): KEY = 1
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3)])
        self.register_buffer("b", x())
        self.plain = x()
    def forward(self, batch):
        return self.layers[0](batch["ids"]) + self.b + self.plain
def use(f, *args):
    torch.compile(f, backend="eager")(*args)
use(lambda d: sum(v.sum() for v in d.values()), {k: x() for k in KEYS})
use(lambda odd: odd[(1, 2)] + odd["a"], {(1, 2): x(), "a": x()})
use(lambda mixed: sum(mixed.values()), {Odd.KEY: x(), "a": x()})
use(lambda own: own[0] + own[1], List([x(), x()]))
use(lambda own_dict: sum(own_dict.values()), Dict({(1, 2): x()}))
use(lambda a: a + 1, numpy.ones(3))
use(Model(), {"ids": x()})
"""
NASTY_KEYS = [
    *["q'uote", 'dq"', "both'\"", "back\\slash", "back\\", "emo\U0001f600ji", "new\nline", "tab\t"],
    *["nul\0", "\udc80", "\u202e", "é", "", " ", "a b", "a,b", "a, b", "a:0", "a]:0", "a[b", "a]b"],
    *["a-z", "b-a", "$x", "${y}", "$(id)", "`z`", "*", "(", ")", "{", "}", "?", "+", "^", "|", "#"],
    *["&", "~", ".", "%d", "{0}", "L['x']", "__class__", "\\d", "']['"],
]


@pytest.mark.torch
def test_names_that_dynamo_prints(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    trace = tmp_path / "trace"
    subprocess.run(
        [sys.executable, program, json.dumps(NASTY_KEYS)],
        env={**os.environ, "TORCH_TRACE": str(trace)},
        check=True,
        capture_output=True,
    )
    (log,) = trace.iterdir()
    names = [
        json.loads(line[line.index("{") :])["describe_source"]["source"]
        for line in log.read_text().splitlines()
        if '{"describe_source"' in line
    ]
    assert all(rebuild(parse(name)) == name for name in names)
    expressions = {python_expression(parse(name)) for name in names}
    for key in NASTY_KEYS:
        # Compared as trees: which quotes are used does not matter.
        wanted = ast.dump(ast.parse(f"d[{key!r}]"))
        assert wanted in {ast.dump(ast.parse(text)) for text in expressions if text}
    assert {
        "odd[(1, 2)]",
        "list(mixed.values())[0]",
        "own[1]",
        "list(own_dict.values())[0]",
        'batch["ids"]',
        "self.layers[0].weight",
        "self.b",
        "self.plain",
        None,  # ___from_numpy(L['a'])
    } <= expressions
