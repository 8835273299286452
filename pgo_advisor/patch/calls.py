"""Which call on a recorded line is the one of the compiled function."""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

import libcst as cst

from pgo_advisor.patch.scopes import own_names
from pgo_advisor.patch.signature import Parameters, accepts
from pgo_advisor.patch.source_file import SourceFile, dotted, walk

_LIBRARIES = {*sys.stdlib_module_names, "torch", "numpy"}
_METHODS = {name for kind in (list, dict, set, str, bytes) for name in dir(kind)}


class NoCall(Exception):
    """Why no call, or no single one, is found, in words."""


class Wrapped(NoCall):
    """The call is that of a wrapper, which makes calls of other functions, too."""


def calls_on_line(
    source: SourceFile, line: int, name: str, told: Parameters | None
) -> list[cst.Call]:
    """The calls on a line that call the function `name`; several if they call the same expression.

    What the file itself tells decides: a callee of that name, one that is bound to a `torch.compile` of it,
    then any that is compiled, then the only other one that could take these arguments. Raises NoCall.
    """
    calls = [node for node in source.nodes if isinstance(node, cst.Call)]
    compiled = _compiled_names(source)
    begun = [call for call in calls if _within(line, source.lines(call.func))]
    found = [
        call
        for call in begun or [call for call in calls if _within(line, source.lines(call))]
        if accepts(call, told)
        and (_is_called(call, name, compiled) or not _of_library(source, call))
    ]
    if not found:
        raise NoCall("no call on that line could be the compiled function's")
    for tier in (
        [call for call in found if _is_called(call, name, compiled)],
        [call for call in found if dotted(call.func) in compiled],
        found,
    ):
        if len({source.code(call.func) for call in tier}) == 1:
            return tier
        if tier:
            names = ", ".join(f"{source.code(call.func)}()" for call in tier)
            raise NoCall(f"several calls on that line could be the compiled function's: {names}")
    raise AssertionError("the last tier is not empty")


def calls_in_file(
    source: SourceFile, name: str, function: cst.FunctionDef | cst.Lambda | None
) -> list[cst.Call]:
    """Calls of a compiled function that its file shows, whoever makes them."""
    if isinstance(function, cst.Lambda):
        call = source.parent(source.parent(function) or function)
        own = {bound for bound, value in _bindings(source) if value is call}
    else:
        compiled = _compiled_names(source)
        own = {bound for bound, target in compiled.items() if target == name != "forward"}
    return [
        node for node in source.nodes if isinstance(node, cst.Call) and dotted(node.func) in own
    ]


def is_compiled(function: cst.FunctionDef) -> bool:
    """Whether it is decorated with torch.compile."""
    return any(_compiles(decorator.decorator) for decorator in function.decorators)


def reached_from(source: SourceFile, names: Iterable[str]) -> set[str]:
    """Names of the file's functions that those of these names, or any that it compiles, call in turn."""
    called: dict[str, set[str]] = defaultdict(set)
    for node in source.nodes:
        if isinstance(node, cst.FunctionDef):
            called[node.name.value] |= {
                (dotted(call.func) or "").rpartition(".")[2]
                for call in walk(node)
                if isinstance(call, cst.Call)
            }
    todo = [*names, *(name for name in _compiled_names(source).values() if name)]
    reached: set[str] = set()
    while todo:
        fresh = called[todo.pop()] - reached
        reached |= fresh
        todo += fresh
    return reached & called.keys()


def calls_alike(source: SourceFile, call: cst.Call) -> list[cst.Call]:
    """The other calls of the same compiled name, as far as it means the same there.

    One that found a graph for its sizes left no trace; unmarked and first, it would cost a graph.
    """
    callee = dotted(call.func)
    if callee not in _compiled_names(source):
        return []
    home = _home(source, callee, call)
    return [
        node
        for node in source.nodes
        if isinstance(node, cst.Call)
        and node is not call
        and dotted(node.func) == callee
        and _home(source, callee, node) is home
    ]


def _home(source: SourceFile, callee: str, call: cst.Call) -> cst.CSTNode:
    """What the callee's first name belongs to: a class for self, a function that binds it, or the module."""
    root = callee.partition(".")[0]
    if root == "self":
        return source.enclosing(call, cst.ClassDef) or source.module
    for node in source.ancestors(call):
        if isinstance(node, cst.FunctionDef) and root in own_names(node):
            return node
    return source.module


def wrapper_around(source: SourceFile, call: cst.Call) -> str | None:
    """The function with the call if it hands whatever it is given to a function that it is given, as in a
    decorator: which function that is, and whether its arguments are tensors, differs.
    """
    around = [node for node in source.ancestors(call) if isinstance(node, cst.FunctionDef)]
    if not around:
        return None
    own = around[0].params
    stars = {
        star.name.value for star in (own.star_arg, own.star_kwarg) if isinstance(star, cst.Param)
    }
    given = {
        parameter.name.value
        for function in around
        for part in (
            function.params.posonly_params,
            function.params.params,
            function.params.kwonly_params,
        )
        for parameter in part
    }
    handed = {dotted(argument.value) for argument in call.args if argument.star}
    wraps = (dotted(call.func) in given) and stars & handed
    return around[0].name.value if wraps else None


def _within(line: int, lines: tuple[int, int]) -> bool:
    return lines[0] <= line <= lines[1]


def _is_called(call: cst.Call, name: str, compiled: dict[str, str | None]) -> bool:
    callee = dotted(call.func)
    last = call.func.attr.value if isinstance(call.func, cst.Attribute) else callee
    return last == name or (callee is not None and compiled.get(callee) == name)


def _of_library(source: SourceFile, call: cst.Call) -> bool:
    """Whether it calls something of PyTorch, the standard library, numpy or a built-in type."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value in _METHODS:
        return True
    root = (dotted(function) or "").partition(".")[0]
    return root in _imported(source) or hasattr(builtins, root)


@lru_cache(16)
def _imported(source: SourceFile) -> frozenset[str]:
    """Names that imports from such libraries bind."""
    return frozenset(_library_names(source.nodes))


def _library_names(nodes: Iterable[cst.CSTNode]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, cst.Import):
            for alias in node.names:
                module = (dotted(alias.name) or "").partition(".")[0]
                if module in _LIBRARIES:
                    yield dotted(alias.asname.name) or "" if alias.asname else module
        elif isinstance(node, cst.ImportFrom) and not node.relative and node.module:
            module = (dotted(node.module) or "").partition(".")[0]
            if module in _LIBRARIES and not isinstance(node.names, cst.ImportStar):
                for alias in node.names:
                    name = alias.asname.name if alias.asname else alias.name
                    yield dotted(name) or ""


@lru_cache(16)
def _compiled_names(source: SourceFile) -> dict[str, str | None]:
    """What the file compiles: the dotted name that is called, and the function's own name if seen."""
    found: dict[str, str | None] = {}
    for bound, value in _bindings(source):
        if isinstance(value, cst.Call) and _compiles(value):
            found[bound] = _compiled_function(value)
    for node in source.nodes:
        if isinstance(node, cst.FunctionDef):
            if is_compiled(node):
                found[node.name.value] = node.name.value
        elif isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
            function = node.value.func
            if isinstance(function, cst.Attribute) and function.attr.value == "compile":
                module = dotted(function.value)
                if module and module not in _imported(source):
                    found[module] = "forward"
    return found


def _bindings(source: SourceFile) -> Iterator[tuple[str, cst.BaseExpression]]:
    for node in source.nodes:
        targets: list[cst.BaseExpression] = []
        if isinstance(node, cst.Assign):
            targets = [target.target for target in node.targets]
        elif isinstance(node, (cst.AnnAssign, cst.NamedExpr)):
            targets = [node.target]
        for target in targets:
            name = dotted(target)
            value = getattr(node, "value", None)
            if name and isinstance(value, cst.BaseExpression):
                yield name, value


def _compiles(node: cst.BaseExpression) -> bool:
    """`torch.compile`, `torch.compile(…)`, `torch.compile(…)(f)`; also `optimize` of torch._dynamo."""
    while isinstance(node, cst.Call):
        node = node.func
    name = dotted(node) or ""
    return name in ("torch.compile", "torch._dynamo.optimize")


def _compiled_function(call: cst.Call) -> str | None:
    """The name of the function that is given to `torch.compile`; None for modules and whatever else."""
    given = [argument.value for argument in call.args if not argument.keyword]
    name = dotted(given[0]) if given else None
    return name.rpartition(".")[2] if name else None
