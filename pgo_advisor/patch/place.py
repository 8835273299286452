"""Where the marks for a call can stand so that they run just before it, each time, and only then."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from pgo_advisor.patch.signature import EFFECTS, has_effect, names_in
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


def _check(source: SourceFile, node: cst.CSTNode, child: cst.CSTNode) -> None:
    """Refuses what does not evaluate `child` exactly once, before all else that it runs."""
    match node:
        case cst.Lambda():
            raise NoPlace("it is called in a lambda, which has no room for a statement")
        case cst.CompFor() if child is node.iter and _is_outermost(source, node):
            pass
        case cst.CompFor() | cst.CompIf():
            raise NoPlace("it is called in a comprehension; write it as a loop")
        case cst.ListComp() | cst.SetComp() | cst.DictComp() | cst.GeneratorExp():
            if child is not node.for_in:
                raise NoPlace("it is called in a comprehension; write it as a loop")
        case cst.IfExp() if child is not node.test:
            raise NoPlace("it is called only under a condition within an expression")
        case cst.BooleanOperation() if child is not node.left:
            raise NoPlace("it is called only under a condition within an expression")
        case cst.ComparisonTarget():
            comparison = source.parent(node)
            if isinstance(comparison, cst.Comparison) and comparison.comparisons[0] is not node:
                raise NoPlace("it is called only under a condition within an expression")
        case cst.If() if child is node.test and isinstance(source.parent(node), cst.If):
            raise NoPlace(
                "it is called in the condition of an elif, which runs after other conditions"
            )
        case cst.While() if child is node.test:
            raise NoPlace(
                "it is called in the condition of a while loop, which runs again each time"
            )
        case cst.With() if child is not node.items[0]:
            raise NoPlace("it is called in a with statement after another context is entered")
        case cst.Decorator():
            raise NoPlace("it is called in a decorator")
        case cst.Param() | cst.Parameters() | cst.Annotation():
            raise NoPlace("it is called in a function's header")
        case cst.ClassDef() if child is not node.body:
            raise NoPlace("it is called in a class's header")
        case cst.MatchCase():
            raise NoPlace("it is called in the guard of a case")
        case cst.Assert() if child is node.msg:
            raise NoPlace("it is called only if the assertion fails")
        case cst.ExceptHandler() | cst.ExceptStarHandler():
            raise NoPlace("it is called in the header of an except clause")
        case cst.For() if child is not node.iter:
            raise NoPlace("it is called in the target of a loop")


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


def effects_in(arguments: list[cst.Arg]) -> bool:
    """Whether evaluating one of the arguments may do more than give a value."""
    return any(has_effect(argument) for argument in arguments)
