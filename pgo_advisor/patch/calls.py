"""Which call on a recorded line is the one of the compiled function."""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
    compiled = _compiled_names(source)
    possible = [call for call in _standing_on(source, line) if accepts(call, told)]
    called = [call for call in possible if _is_called(call, name, compiled)]
    best = called or _of_another_name(source, possible, compiled)
    if not best:
        raise NoCall("no call on that line could be the compiled function's")
    callees = [source.code(call.func) for call in best]
    if len(set(callees)) > 1:
        names = ", ".join(f"{callee}()" for callee in callees)
        raise NoCall(f"several calls on that line could be the compiled function's: {names}")
    return best


def _of_another_name(
    source: SourceFile, calls: Iterable[cst.Call], compiled: Mapping[str, str | None]
) -> list[cst.Call]:
    """Those of the calls whose callee the file compiles; if there are none, all but those of libraries."""
    own = [call for call in calls if not _of_library(source, call)]
    return [call for call in own if dotted(call.func) in compiled] or own


def _standing_on(source: SourceFile, line: int) -> list[cst.Call]:
    """The calls whose callee stands on a line; if there are none, those that reach over it."""
    calls = list(_calls(source))
    begun = [call for call in calls if _within(line, source.lines(call.func))]
    return begun or [call for call in calls if _within(line, source.lines(call))]


def _calls(source: SourceFile) -> Iterator[cst.Call]:
    return (node for node in source.nodes if isinstance(node, cst.Call))


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
    return [call for call in _calls(source) if dotted(call.func) in own]


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
        other
        for other in _calls(source)
        if other is not call
        and dotted(other.func) == callee
        and _home(source, callee, other) is home
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
    if not any(dotted(call.func) in _parameter_names(function.params) for function in around):
        return None
    own = around[0].params
    stars = [
        star.name.value for star in (own.star_arg, own.star_kwarg) if isinstance(star, cst.Param)
    ]
    handed = [dotted(argument.value) for argument in call.args if argument.star]
    return None if set(stars).isdisjoint(handed) else around[0].name.value


def _parameter_names(given: cst.Parameters) -> set[str]:
    parameters = (*given.posonly_params, *given.params, *given.kwonly_params)
    return {parameter.name.value for parameter in parameters}


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
    root = _top(function)
    return root in _imported(source) or hasattr(builtins, root)


@lru_cache(16)
def _imported(source: SourceFile) -> frozenset[str]:
    """Names that imports from such libraries bind."""
    return frozenset(name for node in source.nodes for name in _library_names(node))


def _library_names(node: cst.CSTNode) -> Iterator[str]:
    """Names that a node binds if it is an import from a library."""
    match node:
        case cst.Import():
            for alias in node.names:
                if _top(alias.name) in _LIBRARIES:
                    yield _alias(alias) or _top(alias.name)
        case cst.ImportFrom(module=cst.CSTNode() as module, relative=[], names=[*aliases]):
            for alias in aliases if _top(module) in _LIBRARIES else ():
                yield _alias(alias) or dotted(alias.name) or ""


def _top(module: cst.CSTNode) -> str:
    return (dotted(module) or "").partition(".")[0]


def _alias(alias: cst.ImportAlias) -> str | None:
    return dotted(alias.asname.name) if alias.asname else None


@lru_cache(16)
def _compiled_names(source: SourceFile) -> dict[str, str | None]:
    """What the file compiles: the dotted name that is called, and the function's own name if seen."""
    found: dict[str, str | None] = {}
    for bound, value in _bindings(source):
        if isinstance(value, cst.Call) and _compiles(value):
            found[bound] = _compiled_function(value)
    for node in source.nodes:
        if isinstance(node, cst.FunctionDef) and is_compiled(node):
            found[node.name.value] = node.name.value
        elif (module := _compiled_in_place(node)) and module not in _imported(source):
            found[module] = "forward"
    return found


def _compiled_in_place(node: cst.CSTNode) -> str | None:
    """The module of a statement `module.compile(…)` (torch.nn.Module.compile)."""
    call = node.value if isinstance(node, cst.Expr) else None
    function = call.func if isinstance(call, cst.Call) else None
    if isinstance(function, cst.Attribute) and function.attr.value == "compile":
        return dotted(function.value)
    return None


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
