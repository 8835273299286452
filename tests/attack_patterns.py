"""The package's regular expressions, and for each of them texts that may take it quadratic time."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pgo_advisor

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # these are re's own since 3.11
    import sre_compile
    import sre_parse

_ONCE = {"match", "fullmatch", "search"}
_MANY = {"finditer", "findall", "sub", "subn", "split"}
_CHARACTERS = "aZ0_ \t\n.,:;-+*=/\\'\"()[]{}<>|#$!?`\0\u0661\ue000"
_SAMPLES = 4


Methods = dict[str, set[str]]
"""By the name of a pattern."""


class Used(NamedTuple):
    """A pattern and the methods by which it is used."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def used_patterns() -> Iterator[Used]:
    """All that are made in the package. Raises ValueError for one that is known only at run time."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(pgo_advisor.__path__, "pgo_advisor.")
        if not found.name.endswith("__main__")
    ]
    trees = {
        module: [*ast.walk(ast.parse(Path(module.__file__ or "").read_text()))]
        for module in modules
    }
    of_all: Methods = {}
    uses: dict[ModuleType, Methods] = {}
    for module, nodes in trees.items():
        own: Methods = {}
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr in _ONCE | _MANY:
                name = getattr(node.value, "id", getattr(node.value, "attr", ""))
                own.setdefault(name, set()).add(node.attr)
                of_all.setdefault(name, set()).add(node.attr)
        uses[module] = own
    for module, nodes in trees.items():
        yield from _of_module(module, nodes, {**of_all, **uses[module]})


def _of_module(module: ModuleType, nodes: list[ast.AST], methods: Methods) -> Iterator[Used]:
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    names = {
        id(node.value): node.targets[0].id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    called = {id(call.func): call for call in calls}
    for node in nodes:
        if not (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "re"
            and node.attr in {*_ONCE, *_MANY, "compile"}
        ):
            continue
        where = f"{module.__name__}:{node.lineno}"
        call = called.get(id(node))
        if call is None:
            raise ValueError(f"{where}: not called")
        call.args[1 if node.attr != "compile" else 2 :] = []
        if node.attr == "compile":
            pattern = _evaluated(call, module, where)
        else:
            pattern = re.compile(_evaluated(call.args[0], module, where))
        name = names.get(id(call), "")
        told = methods.get(name, set()) if node.attr == "compile" else {node.attr}
        yield Used(f"{where} {name}".strip(), pattern, frozenset(told or {"search", "fullmatch"}))


def _evaluated(node: ast.expr, module: ModuleType, where: str) -> Any:
    try:
        return eval(compile(ast.Expression(node), where, "eval"), vars(module))
    except NameError as error:
        raise ValueError(f"{where}: a pattern that is made of {error}") from error


class Attack(NamedTuple):
    """A text of any length: `before`, `again` so many times, `behind`."""

    before: str
    again: str
    behind: str

    def text(self, times: int) -> str:
        return self.before + self.again * times + self.behind


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """For each place of the pattern, what it or what follows takes there, repeated and never ended."""
    text = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    tree = sre_parse.parse(
        text, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    characters = _CHARACTERS + "".join(sorted(_literals(tree)))
    if isinstance(pattern.pattern, bytes):
        characters = characters.encode("latin-1", "ignore").decode("latin-1")
    seen: set[Attack] = set()
    for seed in range(_SAMPLES):
        pieces = _Sampler(tree, characters, Random(seed)).pieces
        for start in range(len(pieces) + 1):
            own = pieces[start][1] if start < len(pieces) else ""
            ends = range(start + 1, len(pieces) + 1)
            again = {*own, *("".join(piece for piece, _ in pieces[start:end]) for end in ends)}
            before = "".join(piece for piece, _ in pieces[:start])
            for pump in sorted(again - {""}):
                for behind in ("", "\n\0"):
                    attack = Attack(before, pump, behind)
                    if attack not in seen:
                        seen.add(attack)
                        yield attack


def _literals(tree: Any) -> Iterator[str]:
    for op, argument in tree:
        if op in (sre_parse.LITERAL, sre_parse.NOT_LITERAL):
            yield chr(argument)
        for part in argument if isinstance(argument, (tuple, list)) else ():
            if isinstance(part, sre_parse.SubPattern):
                yield from _literals(part)
            elif isinstance(part, list):
                for branch in part:
                    if isinstance(branch, sre_parse.SubPattern):
                        yield from _literals(branch)


class _Sampler:
    """One text that a pattern takes, by its pieces, each with the characters that may stand there."""

    def __init__(self, tree: Any, characters: str, draw: Random) -> None:
        self._state = tree.state
        self._characters = characters
        self._draw = draw
        self.pieces: list[tuple[str, str]] = []
        self._take(tree)

    def _take(self, tree: Any) -> None:
        literal = False
        for op, argument in tree:
            name = str(op)
            after, literal = literal, name == "LITERAL"
            if literal:
                before = self.pieces.pop()[0] if after else ""
                self.pieces.append((before + chr(argument), ""))
            elif name in ("NOT_LITERAL", "IN", "ANY"):
                one = sre_compile.compile(sre_parse.SubPattern(self._state, [(op, argument)]))
                taken = [c for c in self._characters if one.match(c)]
                if taken:
                    self.pieces.append((self._draw.choice(taken), "".join(taken)))
            elif name == "BRANCH":
                self._take(self._draw.choice(argument[1]))
            elif name == "SUBPATTERN":
                self._take(argument[3])
            elif name.endswith("_REPEAT"):
                least, most, body = argument
                for _ in range(self._draw.randint(least, min(int(most), least + 2))):
                    self._take(body)
            elif name == "ATOMIC_GROUP":
                self._take(argument)
