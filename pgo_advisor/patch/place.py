"""Where the marks for a call can stand so that they run just before it, each time, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from pgo_advisor.patch.signature import EFFECTS, names_in
from pgo_advisor.patch.source_file import SourceFile, walk


class NoPlace(Exception):
    """Why no statement can stand right before a call, in words."""


@dataclass(frozen=True)
class Place:
    """The statement before which marks go.

    `effects`: the statement evaluates something before the call that could change what the arguments mean.
    `rebound`: names that it binds itself, by `:=`.
    """

    statement: cst.BaseStatement | cst.BaseSmallStatement
    effects: bool
    rebound: frozenset[str]


_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


def place_of(source: SourceFile, call: cst.Call) -> Place:
    """The statement before which the marks for `call` go. Raises NoPlace."""
    child: cst.CSTNode = call
    for node in source.ancestors(call):
        _check(source, node, child)
        if isinstance(node, (cst.BaseStatement, cst.BaseSmallStatement)):
            effects = any(
                isinstance(found, EFFECTS) and not _contains(found, call)
                for found in _before(source, node, call)
            )
            walrus = {
                name
                for found in walk(node if isinstance(node, cst.BaseSmallStatement) else child)
                if isinstance(found, cst.NamedExpr)
                for name in names_in(found.target)
            }
            return Place(node, effects, frozenset(walrus))
        child = node
    raise NoPlace("it is in no statement")


_IN_COMPREHENSION = "it is called in a comprehension; write it as a loop"
_IN_CONDITION = "it is called only under a condition within an expression"
_IN_FUNCTION = "it is called in a function's header"
_IN_EXCEPT = "it is called in the header of an except clause"
_ANYWHERE: dict[type[cst.CSTNode], str] = {
    cst.Lambda: "it is called in a lambda, which has no room for a statement",
    cst.CompFor: _IN_COMPREHENSION,
    cst.CompIf: _IN_COMPREHENSION,
    cst.Decorator: "it is called in a decorator",
    cst.Param: _IN_FUNCTION,
    cst.Parameters: _IN_FUNCTION,
    cst.Annotation: _IN_FUNCTION,
    cst.MatchCase: "it is called in the guard of a case",
    cst.ExceptHandler: _IN_EXCEPT,
    cst.ExceptStarHandler: _IN_EXCEPT,
}
"""Why none of a node's parts is evaluated exactly once, before all else that the statement runs."""
_BUT_FIRST: dict[type[cst.CSTNode], tuple[str, str]] = {
    **dict.fromkeys(_COMPREHENSIONS, ("for_in", _IN_COMPREHENSION)),
    cst.IfExp: ("test", _IN_CONDITION),
    cst.BooleanOperation: ("left", _IN_CONDITION),
    cst.With: ("items", "it is called in a with statement after another context is entered"),
    cst.ClassDef: ("body", "it is called in a class's header"),
    cst.For: ("iter", "it is called in the target of a loop"),
}
"""The only part of a node that is, the first of several, and why another is not."""


def _check(source: SourceFile, node: cst.CSTNode, child: cst.CSTNode) -> None:
    """Refuses what does not evaluate `child` exactly once, before all else that it runs."""
    if isinstance(node, cst.CompFor) and child is node.iter and _is_outermost(source, node):
        return
    reason = _ANYWHERE.get(type(node)) or _in_condition(source, node, child)
    if part := _BUT_FIRST.get(type(node)):
        first = getattr(node, part[0])
        if child is not (first[0] if isinstance(first, Sequence) else first):
            reason = part[1]
    if reason:
        raise NoPlace(reason)


def _in_condition(source: SourceFile, node: cst.CSTNode, child: cst.CSTNode) -> str | None:
    """Why a part of a comparison, or the condition of a statement, may be evaluated late or never."""
    match node:
        case cst.ComparisonTarget():
            comparison = source.parent(node)
            if isinstance(comparison, cst.Comparison) and comparison.comparisons[0] is not node:
                return _IN_CONDITION
        case cst.If() if child is node.test and isinstance(source.parent(node), cst.If):
            return "it is called in the condition of an elif, which runs after other conditions"
        case cst.While() if child is node.test:
            return "it is called in the condition of a while loop, which runs again each time"
        case cst.Assert() if child is node.msg:
            return "it is called only if the assertion fails"
    return None


def _is_outermost(source: SourceFile, node: cst.CompFor) -> bool:
    return isinstance(source.parent(node), _COMPREHENSIONS)


def _contains(node: cst.CSTNode, call: cst.Call) -> bool:
    return any(found is call for found in walk(node))


def _before(source: SourceFile, statement: cst.CSTNode, call: cst.Call) -> list[cst.CSTNode]:
    """What the statement evaluates before the call begins to evaluate its arguments, whole nodes."""
    found = []
    first_argument = source.span(call.func).end

    def collect(node: cst.CSTNode) -> None:
        if isinstance(node, (cst.Lambda, cst.AssignTarget, cst.BaseSuite, cst.Decorator)):
            return
        if isinstance(node, cst.BaseExpression) and source.span(node).start >= first_argument:
            return
        if isinstance(node, cst.AnnAssign):
            if node.value:
                collect(node.value)
            return
        found.append(node)
        for child in node.children:
            collect(child)

    collect(statement)
    return found
