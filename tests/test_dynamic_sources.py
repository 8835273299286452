"""The list's value: what PyTorch's own matcher, and PyTorch itself, make of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.dynamo.source_list import ListEntry, SourceList, encode, parse
from pgo_advisor.dynamo.sources import SourceDim


def matches(value: str, release: TorchRelease | None, source: str, dim: int | None = None) -> bool:
    """Whether PyTorch, given this value, makes the source, or that dim of it, dynamic.

    Without `dim`: whether any entry is about the source, as PyTorch asks for an int. None reads
    as 2.13 does. Raises re.error where PyTorch dies of an entry.
    """
    regexes = release is None or release.has(Capability.LIST_REGEX)
    return any(
        dim is None or entry_dim is None or entry_dim == dim
        for pattern, entry_dim in parse(value, release)
        if pattern == source or (regexes and re.match(pattern, source))
    )


OLD, T27, T28, T212, T213, T215 = (
    TorchRelease.parse(text) for text in ("2.6.0", "2.7.1", "2.8.0", "2.12.1", "2.13.0", "2.15.0")
)


def items(result: SourceList) -> list[str]:
    return [entry.text for entry in result.entries]


def test_plain_names_stay_as_they_are() -> None:
    wanted = [
        SourceDim("L['x']", 0),
        SourceDim("L['kwargs']['attention_mask']", 1),
        SourceDim("L['self']._modules['layer.0'].step"),
        SourceDim("L['args'][1]", 1),
        SourceDim("G['n']"),
    ]
    assert encode(wanted, T213).value == (
        "L['x']:0,L['kwargs']['attention_mask']:1,L['self']._modules['layer.0'].step,"
        "L['args'][1]:1,G['n']"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("list.__getitem__(L['l'], 0)", r"list\.__getitem__\(L\['l'\]\x2c\s0\)$"),
        ("L['d']['a[b']", r"L\['d'\]\['a\[b'\]$"),
        ("L['d']['a-z']", r"L\['d'\]\['a-z'\]$"),
        ("L['d']['new\\nline']", r"L\['d'\]\['new\\nline'\]$"),
        ("L['d']['\0\udc80\n']", r"L\['d'\]\['\x00\udc80\x0a'\]$"),
        ("L['x']:0", r"L\['x'\]:0$"),
        ("___from_numpy(L['a'])", r"___from_numpy\(L\['a'\]\)$"),
    ],
)
def test_what_would_be_misread_is_escaped(source: str, text: str) -> None:
    assert encode([SourceDim(source)], None).value == text
    assert encode([SourceDim(source, 2)], T213).value == text + ":2"


def test_dims() -> None:
    wanted = [
        SourceDim("L['x']", 1),
        SourceDim("L['x']", 0),
        SourceDim("L['y']", 0),
        SourceDim("L['y']"),
    ]
    known = encode([*wanted, wanted[0]], T213)
    assert items(known) == ["L['x']:1", "L['x']:0", "L['y']"]
    assert known.entries[2].covers == (SourceDim("L['y']", 0), SourceDim("L['y']"))
    assert known.notes == ()
    for release in (T27, T28, T212, None):
        whole = encode(wanted, release)
        assert items(whole) == ["L['x']", "L['y']"]
        assert whole.entries[0].covers == (SourceDim("L['x']", 1), SourceDim("L['x']", 0))
        (note,) = whole.notes
        assert "all dims of L['x'], L['y'] become dynamic" in note


def test_2_7_has_exact_names_only() -> None:
    sayable = [SourceDim("L['d']['a[b']", 0), SourceDim("L['d']['b-a']", 0)]
    unsayable = [SourceDim("list.__getitem__(L['l'], 0)", 0), SourceDim("L['d']['a b']", 0)]
    result = encode([*sayable, *unsayable], T27)
    assert result.value == "L['d']['a[b'],L['d']['b-a']"
    assert [entry for entry, _ in result.unexpressible] == unsayable
    assert any("list.__getitem__(L['l'], 0), L['d']['a b']" in note for note in result.notes)
    for entry in sayable:
        assert matches(result.value, T27, entry.source, 0)
    for number in range(12):
        assert f"L['c'][{number}]" in items(
            encode([SourceDim(f"L['c'][{n}]") for n in range(12)], T27)
        )


def test_before_2_7_there_is_no_list() -> None:
    result = encode([SourceDim("L['x']", 0)], OLD)
    assert (result.value, result.entries) == ("", ())
    assert result.unexpressible == (
        (
            SourceDim("L['x']", 0),
            "PyTorch 2.6.0 has no list of dynamic sources; 2.7 and later have",
        ),
    )
    assert not matches("L['x']", OLD, "L['x']")


def test_notes() -> None:
    assert encode([SourceDim("G['n']")], T28).notes == (
        "PyTorch 2.8.0 ignores G['n'] if it is an int.",
    )
    assert encode([SourceDim("G['n']")], T213).notes == ()
    (note,) = encode([SourceDim("L['d']['a b']")], None).notes
    assert "2.7 ignores" in note
    (note,) = encode([SourceDim(f"L['{'x' * 140_000}']")], T213).notes
    assert "128 KiB" in note
    (note,) = encode([SourceDim(f"L['{name}']", 0) for name in "abcde"], T28).notes
    assert note.endswith("all dims of L['a'], L['b'], L['c'] and 2 more become dynamic.")


LAYERS = [f"L['cache'][{layer}][{kv}]" for layer in range(12) for kv in range(2)]


def test_many_alike_are_folded() -> None:
    wanted = [
        SourceDim("L['ids']", 1),
        *(SourceDim(name, 2) for name in LAYERS),
        SourceDim("L['x']", 0),
    ]
    result = encode(wanted, T213)
    fold = r"L\['cache'\]\[(?:[0-9]|1[01])\]\[[01]\]$:2"
    assert items(result) == ["L['ids']:1", fold, "L['x']:0"]
    assert result.entries[1] == ListEntry(fold, tuple(wanted[1:-1]))
    unseen = ["L['cache'][12][0]", "L['cache'][1][2]", "L['cache'][1][0].a", "L['cache'][100][0]"]
    assert [name for name in LAYERS + unseen if matches(result.value, T213, name, 2)] == LAYERS


@pytest.mark.parametrize(
    ("sources", "value"),
    [
        (
            [f"L['self']._modules['attention']._buffers['{n}']" for n in ("k", "v", "out", "q")],
            r"L\['self'\]\._modules\['attention'\]\._buffers\['(?:k|out|q|v)'\]$",
        ),
        (
            [f"L['block_input_{number}']" for number in (3, 30, 31, 32, 40, 41, 42)],
            r"L\['block_input_(?:3|[34][0-2])'\]$",
        ),
        # Not a full grid: two sets, each of which is one.
        (
            [f"L['cache_of_keys'][{n}]['a']" for n in range(10)]
            + [f"L['cache_of_keys'][{n}]['b']" for n in range(5)],
            r"L\['cache_of_keys'\]\[[0-9]\]\['a'\]$,L\['cache_of_keys'\]\[[0-4]\]\['b'\]$",
        ),
        # Three, or four that are as short by themselves, are not worth it.
        (["L['c'][0]", "L['c'][1]", "L['c'][2]"], "L['c'][0],L['c'][1],L['c'][2]"),
        (["L['a']", "L['b']", "L['c']", "L['d']"], "L['a'],L['b'],L['c'],L['d']"),
    ],
)
def test_folds(sources: list[str], value: str) -> None:
    assert encode([SourceDim(source) for source in sources], None).value == value


def test_dims_are_folded_apart() -> None:
    wanted = [SourceDim(name, dim) for name in LAYERS for dim in (2, 0)]
    assert items(encode(wanted, T213)) == [
        r"L\['cache'\]\[(?:[0-9]|1[01])\]\[[01]\]$:2",
        r"L\['cache'\]\[(?:[0-9]|1[01])\]\[[01]\]$:0",
    ]


key = st.one_of(
    st.text(max_size=5),
    st.text("ab01-[]'\"\\ ,.:{}$", max_size=6),
    st.integers(-1, 130),
    st.tuples(st.integers(0, 3), st.text("ab ", max_size=2)),
)
names = st.builds(
    lambda root, path, wrap: wrap.format(root + "".join(f"[{part!r}]" for part in path)),
    st.sampled_from(["L['x']", "L['x1']", "L['cache']", "G['x']", "L['self']._modules"]),
    st.lists(key, max_size=3),
    st.sampled_from(["{}", "{}", "list.__getitem__({}, 0)", "___from_numpy({})", "{}._base"]),
)
grids = st.builds(
    lambda shape, first, second: [shape.format(a, b) for a in first for b in second],
    st.sampled_from(["L['cache'][{}][{}]", "L['a_{}'].b{}", "L['d']['{}, {}']", "f{}(L['x'])[{}]"]),
    st.sets(st.integers(0, 120), max_size=15),
    st.sets(st.integers(0, 9) | st.sampled_from(["k", "v", "kv"]), max_size=4),
)
several = st.builds(
    lambda single, grid: list(dict.fromkeys(single + grid)), st.lists(names, max_size=6), grids
)
dims = st.none() | st.integers(0, 3)


@pytest.mark.slow
@settings(deadline=None)
@given(several, st.data(), st.sampled_from([None, T28, T212, T213, T215]))
@example(LAYERS, None, T213)
def test_exactly_what_is_wanted(
    sources: list[str], data: Any, release: TorchRelease | None
) -> None:
    """In every release: each wanted dim matches, and no other of the known sources or dims."""
    if data is None:
        wanted = [SourceDim(source, 0) for source in sources[::2]]
    else:
        chosen = data.draw(
            st.lists(st.sampled_from(sources), unique=True) if sources else st.just([])
        )
        wanted = [SourceDim(source, data.draw(dims)) for source in chosen]
    with warnings.catch_warnings():
        # A pattern that `re` warns about may mean something else one day.
        warnings.simplefilter("error")
        re.purge()
        result = encode(wanted, release)
        assert not result.unexpressible
        assert not re.search(r"[\s\x00-\x1f\x7f]", result.value)
        assert sorted(e.source for item in result.entries for e in item.covers) == sorted(
            e.source for e in wanted
        )
        readers = [release] if release else [T28, T212, T213, T215]
        for reader in readers:
            assert (
                len(parse(result.value, reader)) == len(set(items(result))) == len(result.entries)
            )
            for source in sources:
                mine = [entry for entry in wanted if entry.source == source]
                assert matches(result.value, reader, source) == bool(mine)
                if release in (T213, T215):
                    for dim in range(4):
                        expected = any(entry.dim in (None, dim) for entry in mine)
                        assert matches(result.value, reader, source, dim) == expected


@given(st.lists(st.text(max_size=20), max_size=5, unique=True))
def test_hostile_names(sources: list[str]) -> None:
    result = encode([SourceDim(source, 0) for source in sources], None)
    assert "\0" not in result.value
    result.value.encode()
    for source in sources:
        assert matches(result.value, T215, source, 0)


def test_huge_names_take_no_time() -> None:
    wanted = [SourceDim("L['x']" + f"['{number}a,'" * 20_000) for number in range(5)]
    wanted += [SourceDim(f"L['x{'y' * number}'][{number * 7 % 13}]") for number in range(400)]
    result = encode(wanted, None)
    assert {entry for item in result.entries for entry in item.covers} == set(wanted)


def real_builder() -> Any:
    pytest.importorskip("torch")
    builder = pytest.importorskip("torch._dynamo.variables.builder")
    if not hasattr(builder, "_parse_source_entry"):
        pytest.skip("this PyTorch does not know :N")
    return builder


def outcome(call: Any) -> object:
    try:
        return call()
    except Exception as error:
        return type(error)


entries = st.one_of(
    names,
    st.text(max_size=10),
    st.builds("{}:{}".format, names, st.integers(0, 3)),
    st.sampled_from(
        [".*", ".*:0", "L\\['x.*'\\]", "L['x']$:1", "[", "(", "a:0:1", ":0", "", "\n:0"]
    ),
)


@pytest.mark.torch
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(entries, max_size=4), names | st.text(max_size=6), dims)
def test_matches_as_pytorch_does(listed: list[str], source: str, dim: int | None) -> None:
    builder = real_builder()
    compiler_config = pytest.importorskip("torch.compiler.config")
    value = ",".join(listed)
    with compiler_config.patch(dynamic_sources=value):
        assert list(parse(value, T213)) == builder.get_dynamic_sources()
        expected = outcome(lambda: builder.is_dynamic_source(source, dim))
    assert outcome(lambda: matches(value, T213, source, dim)) == expected


PROGRAM = r"""
import collections, json, sys, torch
class List(list): pass
class Dict(dict): pass
KEYS = json.loads(sys.argv[1])
compiles = collections.Counter()
def counting(name):
    def backend(graph, inputs):
        compiles[name] += 1
        return graph.forward
    return backend
def run(name, f, make, other=False):
    torch._dynamo.reset()  # Functions of one line share their code object and its limit.
    compiled = torch.compile(f, backend=counting(name))
    for size in (4, 5, 6):
        compiled(make(torch.ones(3, size) if other else torch.ones(size, 3)))
for key in KEYS:
    run(f"key {key}", lambda d, key=key: d[key] + 1, lambda t, key=key: {key: t})
run("list", lambda own: own[0] + 1, lambda t: List([t]))
run("dict", lambda own_dict: own_dict[torch.float32] + 1, lambda t: Dict({torch.float32: t}))
run("numpy", lambda a: a + 1, lambda t: t.numpy())
run("dim 0", lambda x: x + 1, lambda t: t)
run("dim 1", lambda x: x + 1, lambda t: t, other=True)
for layer in range(13):
    run(f"cache {layer}", lambda cache, layer=layer: cache[layer] + 1,
        lambda t, layer=layer: [None] * layer + [t])
print(json.dumps(compiles))
"""
NASTY_KEYS = [
    *["q'uote", 'dq"', "both'\"", "back\\slash", "back\\", "emo\U0001f600ji", "new\nline", "tab\t"],
    *["nul\0", "\udc80", "\u202e", "é", "", " ", "a b", "a,b", "a, b", "a:0", "a]:0", "a[b", "a]b"],
    *["a-z", "b-a", "$x", "${y}", "$(id)", "`z`", "*", "(", ")", "{", "}", "?", "+", "^", "|", "#"],
    *["&", "~", ".", "%d", "{0}", "L['x']", "\\d", "']['", "plain", "plain2", "x.y/z:w"],
]


def compiles(value: str, folder: Path) -> dict[str, int]:
    """How often real PyTorch compiles each of the program's functions under this list."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program, json.dumps(NASTY_KEYS)],
        env={**os.environ, "TORCH_COMPILE_DYNAMIC_SOURCES": value},
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


def key_entries(keys: Iterable[str]) -> list[SourceDim]:
    return [SourceDim(f"L['d'][{key!r}]", 0) for key in keys]


@pytest.mark.torch
@pytest.mark.parametrize("half", [0, 1])
def test_real_pytorch_obeys_the_value(half: int, tmp_path: Path) -> None:
    real_builder()
    wanted = [
        *key_entries(NASTY_KEYS[half::2]),
        SourceDim("list.__getitem__(L['own'], 0)", 0),
        SourceDim("dict.__getitem__(L['own_dict'], list(dict.keys(L['own_dict']))[0])", 0),
        SourceDim("___from_numpy(L['a'])", 0),
        SourceDim("L['x']", 0),
        *(SourceDim(f"L['cache'][{layer}]", 0) for layer in range(12)),
    ]
    result = encode(wanted, T213)
    assert r"L\['cache'\]\[(?:[0-9]|1[01])\]$:0" in items(result)
    counts = compiles(result.value, tmp_path)
    # What is in the list compiles once; the rest, which is automatically dynamic, twice.
    once = {f"key {key}" for key in NASTY_KEYS[half::2]} | {"list", "dict", "numpy", "dim 0"}
    once |= {f"cache {layer}" for layer in range(12)}
    assert {name for name, count in counts.items() if count == 1} == once
    assert {count for name, count in counts.items() if name not in once} == {2}


@pytest.mark.torch
def test_real_pytorch_obeys_the_value_for_an_unknown_release(tmp_path: Path) -> None:
    real_builder()
    wanted = [*key_entries(NASTY_KEYS), SourceDim("L['x']", 0)]
    counts = compiles(encode(wanted, None).value, tmp_path)
    once = {f"key {key}" for key in NASTY_KEYS} | {"dim 0", "dim 1"}
    assert {name for name, count in counts.items() if count == 1} == once
