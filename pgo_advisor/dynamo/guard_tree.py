"""`dynamo_cpp_guards_str`: the tree of guards that a compiled graph checks before each call.

Printed by `torch/_dynamo/guards.py`, `GuardManagerWrapper.__str__`: a line for each manager, which
names the source that it guards, below it a line for each leaf guard, indented by two characters more.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from pgo_advisor.dynamo import guard_text
from pgo_advisor.dynamo.sources import whole_number

_LINE = re.compile(r"((?:\| )*)\+- (.*)", re.DOTALL)
_MANAGER = re.compile(r"(?:KeyManager: |ValueManager: )?\w*GuardManager(?:: source=|$)")
_LEAF = re.compile(r"([A-Z][A-Z_]+): (.*)", re.DOTALL)
_NUMBER = re.compile(r"(-?\d{1,40})|-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+e[-+]?\d+|inf|nan)")
_KEYS = ", DispatchKeySet("
_TENSOR = re.compile(
    r", (?P<keys>DispatchKeySet\([^)]*\)), (?P<dtype>torch\.\w+), "
    r"device=(?P<device>[^,]*), requires_grad=(?P<grad>True|False), "
    r"size=\[(?P<size>[^\]]*)\], stride=\[(?P<stride>[^\]]*)\]\)"
)
_MARK = re.compile(r"'_dynamo_(dynamic|weak_dynamic|unbacked|strict_unbacked|static)_indices'")
_SAME = re.compile(r"(.+) is ([LG]\[.+)")
_SHAPE_GUARDS = {"LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD"}
_ALIASING = {"LAMBDA_GUARD", "OBJECT_ALIASING"}
"""What says that sources are one object: by `use_lamba_guard_for_object_aliasing`, which 2.15 has off."""
_NOT_COMPARED = {
    "NO_TENSOR_ALIASING",
    "TORCH_FUNCTION_MODE_STACK",
    "OBJECT_ALIASING",
    "DICT_VERSION",
}
"""Guards on marks and on identity relations: they change with a mark, or differ with each object."""
_BOOLS = {"TRUE_MATCH": "True", "FALSE_MATCH": "False"}
"""Guards of two kinds on one thing, told apart by their value instead."""
_PREDICATES = {
    "DICT_CONTAINS": "DICT_CONTAINS",
    "SET_CONTAINS": "SET_CONTAINS",
    "HASATTR": "HASATTR",
    "NO_HASATTR": "HASATTR",
}
"""Guards that a source has a key or an attribute, or has it not: one source can have many."""


class Leaf(NamedTuple):
    """A guard that is not about sizes: calls whose `value` differs need graphs of their own."""

    kind: str
    source: str
    value: str


class TensorGuard(NamedTuple):
    """`TENSOR_MATCH`: the dims whose size is a symbol, and the rest that has to stay the same."""

    source: str
    size: tuple[int | None, ...]
    """None where the size is a symbol."""
    same: str

    @property
    def symbolic_dims(self) -> tuple[int, ...]:
        return tuple(dim for dim, size in enumerate(self.size) if size is None)


def parts_of(same: str) -> list[str]:
    """The class, the dispatch keys, dtype, device, requires_grad and rank that `same` is made of."""
    class_, _, rest = same.partition(_KEYS)
    keys, _, others = rest.partition("), ")
    return [class_, f"DispatchKeySet({keys})", *others.split(", ")]


class GuardTree(NamedTuple):
    """The guards of a graph, as `dynamo_cpp_guards_str` prints them."""

    leaves: list[Leaf]
    tensors: list[TensorGuard]
    numbers: dict[str, int | float]
    """Ints and floats that the graph has as constants, by source."""
    shape_guards: list[tuple[str, str]]
    """Relation and comment, in the order in which they are checked."""
    marks: dict[str, dict[str, frozenset[int]]]
    """By source and kind of mark the marked dims; empty where the guard says that there is no mark."""
    aliases: list[tuple[str, str]]
    """Sources that have to be the same object."""


NO_GUARDS = GuardTree([], [], {}, [], {}, [])


def parse_guards(text: str) -> GuardTree:
    """Reads the tree; lines that are not understood are passed over."""
    tree = GuardTree([], [], {}, [], {}, [])
    sources: dict[int, str] = {}
    for line in text.split("\n"):
        if not (match := _LINE.fullmatch(line)):
            continue
        depth, content = len(match[1]) // 2, match[2]
        if manager := _MANAGER.match(content):
            sources[depth] = sys.intern(content[manager.end() :].partition(", accessed_by=")[0])
        elif leaf := _LEAF.fullmatch(content):
            _add_leaf(tree, leaf[1], sources.get(depth - 1, ""), leaf[2])
    return tree


def _add_leaf(tree: GuardTree, kind: str, source: str, body: str) -> None:
    # a function's compiles have nearly all of their guards in common
    guard, comment = map(sys.intern, split_comment(body))
    if kind in _ALIASING and (alias := _SAME.fullmatch(guard)):
        tree.leaves.append(Leaf("ALIAS", guard, "True"))
        tree.aliases.append((alias[1], alias[2]))
    elif kind in _SHAPE_GUARDS:
        tree.shape_guards.append((guard, comment))
    elif kind == "TENSOR_MATCH":
        start = guard.rfind(_KEYS)
        if match := _TENSOR.match(guard, max(0, start)):
            sizes = match["size"].split(", ") if match["size"] else []
            class_ = guard[:start].rpartition(", ")[2]
            same = (class_, match["keys"], match["dtype"], match["device"], match["grad"])
            size = tuple(whole_number(text) for text in sizes)
            tree.tensors.append(TensorGuard(source, size, f"{', '.join(same)}, {len(sizes)} dims"))
    elif mark := _MARK.search(guard):
        dims = re.search(r"issubset\(\{([\d, ]*)\}\)", guard)
        numbers = map(whole_number, dims[1].split(",")) if dims else ()
        marked = frozenset(number for number in numbers if number is not None)
        tree.marks.setdefault(source, {})[mark[1]] = marked
    elif kind not in _NOT_COMPARED:
        value = guard.rpartition(" == ")[2]
        if kind == "EQUALS_MATCH" and (number := _NUMBER.fullmatch(value)):
            tree.numbers[source] = int(value) if number[1] else float(value)
        elif kind in _BOOLS:
            tree.leaves.append(Leaf("BOOL_MATCH", source, _BOOLS[kind]))
        elif kind in _PREDICATES:
            positive = guard.removeprefix("not ").removesuffix(" == False")
            tree.leaves.append(Leaf(_PREDICATES[kind], positive, str(positive == guard)))
        else:
            tree.leaves.append(Leaf(kind, source, guard))


def split_comment(body: str) -> tuple[str, str]:
    """A guard and the comment behind it, which says where in the user's code it comes from."""
    guard, _, comment = body.partition("  # ")
    if "  # " in comment:
        guard, comment = guard_text.split_comment(body)
        comment = comment.removeprefix("  # ")
    return guard.strip(), comment.strip()
