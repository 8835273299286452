"""Marks that stand in a file already: reading them, and finding a statement that was patched before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from pgo_advisor.patch.source_file import SourceFile, dotted, literal, walk

_BINDING = (
    cst.AssignTarget,
    cst.AnnAssign,
    cst.AugAssign,
    cst.NamedExpr,
    cst.For,
    cst.CompFor,
)
_MARKS = ("mark_dynamic", "maybe_mark_dynamic", "mark_unbacked", "mark_static")


class Mark(NamedTuple):
    """A mark as it is written: the tensor's expression, the dim, and which function marks it."""

    expression: str
    dim: int
    function: str


def existing(source: SourceFile, statement: cst.CSTNode) -> list[Mark]:
    """Marks in the statements before this one in its block that still hold when it runs."""
    found: list[Mark] = []
    rebound: set[str] = set()
    for earlier in reversed(_before(source, statement)):
        found += [
            mark for mark in _marks(source, earlier) if root_name(mark.expression) not in rebound
        ]
        rebound |= _bound(earlier)
    return found


def is_tuple(source: SourceFile, statement: cst.CSTNode, name: str) -> bool:
    """Whether the last statement before this one that binds `name` makes it a tuple."""
    for earlier in reversed(_before(source, statement)):
        if name in _bound(earlier):
            return f"{name} = tuple(" in source.code(earlier)
    return False


def patched(source: SourceFile, code: str) -> list[int]:
    """Lines of statements that have marks before them and were the line `code` before these were put in."""
    lines = []
    for node in source.nodes:
        if not isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            continue
        named: dict[str, str] = {}
        marked = False
        for earlier in reversed(_before(source, node)):
            if any(_marks(source, earlier)):
                marked = True
            elif marked and (assigned := _naming(source, earlier)):
                named.setdefault(*assigned)
            else:
                break
            text = _bare(_inlined(source, node, named).split("\n")[0])
            if text and text in _bare(code):
                lines.append(source.lines(node)[0])
                break
    return lines


def _bare(text: str) -> str:
    """Without white space and parentheses: a name's value may have got some."""
    return re.sub(r"[()\s]", "", text)


def _before(source: SourceFile, statement: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The statements before this one in its block."""
    parent = source.parent(statement)
    if isinstance(statement, cst.BaseSmallStatement) and parent is not None:
        statement, parent = parent, source.parent(parent)
    body = parent.body if isinstance(parent, (cst.Module, cst.IndentedBlock)) else ()
    index = next((i for i, node in enumerate(body) if node is statement), 0)
    return body[:index]


def _marks(source: SourceFile, statement: cst.CSTNode) -> Iterator[Mark]:
    """The marks of a statement that does nothing else but for a condition."""
    if isinstance(statement, cst.If) and statement.orelse is None:
        for inner in statement.body.body:
            yield from _marks(source, inner)
    if not isinstance(statement, cst.SimpleStatementLine):
        return
    for small in statement.body:
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            yield from _marks_of(source, small.value)


def _marks_of(source: SourceFile, call: cst.Call) -> Iterator[Mark]:
    function = (dotted(call.func) or "").rpartition(".")[2]
    if function in _MARKS and len(call.args) > 1:
        for dim in _dims(source.code(call.args[1].value)):
            yield Mark(source.code(call.args[0].value), dim, function)


def _dims(text: str) -> list[int]:
    value = literal(text)
    values = value if isinstance(value, (list, tuple)) else [value]
    return [dim for dim in values if isinstance(dim, int)]


def root_name(expression: str) -> str:
    """The name that an expression of attributes and items begins with."""
    return expression.partition(".")[0].partition("[")[0]


def _bound(statement: cst.CSTNode) -> set[str]:
    """Names that a statement binds, or whose parts it does."""
    targets: list[cst.CSTNode] = []
    for node in walk(statement):
        if isinstance(node, _BINDING):
            targets.append(node.target)
        elif isinstance(node, cst.AsName):
            targets.append(node.name)
    return {name.value for target in targets for name in walk(target) if isinstance(name, cst.Name)}


def _naming(source: SourceFile, statement: cst.CSTNode) -> tuple[str, str] | None:
    """`name = expression`, as (name, expression)."""
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return None
    small = statement.body[0]
    if not isinstance(small, cst.Assign) or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    if not isinstance(target, cst.Name):
        return None
    expression = source.code(small.value)
    if (
        isinstance(small.value, cst.Call)
        and dotted(small.value.func) == "tuple"
        and len(small.value.args) == 1
    ):
        expression = source.code(small.value.args[0].value)
    return target.value, expression


def _inlined(source: SourceFile, statement: cst.CSTNode, named: dict[str, str]) -> str:
    span = source.span(statement)
    end = source.text.find("\n", span.end)
    text = source.text[span.start : end if end >= 0 else len(source.text)]
    names = [
        (source.span(node), named[node.value])
        for node in walk(statement)
        if isinstance(node, cst.Arg)
        for node in [node.value]
        if isinstance(node, cst.Name) and node.value in named
    ]
    for place, expression in sorted(names, reverse=True):
        if place.start < span.start + len(text):
            text = text[: place.start - span.start] + expression + text[place.end - span.start :]
    return text.replace("\r", "\n")
