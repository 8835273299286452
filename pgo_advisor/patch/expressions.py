"""What to write for an input in the caller's terms, and which argument needs a name first."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from pgo_advisor.dynamo.sources import Item, Source, Step, python_expression
from pgo_advisor.patch.signature import Bound, NoArgument
from pgo_advisor.patch.source_file import SourceFile, literal

_NEW_EACH_TIME = {"T", "mT", "H", "mH", "data", "real", "imag"}
"""Properties of a tensor that make another tensor each time: a mark on that would be lost."""
_PLACEHOLDER = "argument"
_MAX_EXPRESSION = 500


def is_stable(node: cst.BaseExpression) -> bool:
    """Whether evaluating it again gives the same object: names, attributes, string keys.

    An index is not among them: `x[0]` of a tensor is another tensor each time.
    """
    match node:
        case cst.Name():
            return True
        case cst.Attribute():
            return node.attr.value not in _NEW_EACH_TIME and is_stable(node.value)
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
            return isinstance(key, cst.SimpleString) and is_stable(node.value)
    return False


def with_steps(text: str, steps: tuple[Step, ...]) -> str:
    """The expression `text` and the steps from there. Raises NoArgument where no expression exists."""
    source = Source("", "local", _PLACEHOLDER, steps)
    expression = python_expression(source)
    if expression is None:
        raise NoArgument("no expression outside of the compiled code names it")
    if len(expression) > _MAX_EXPRESSION:
        raise NoArgument("the expression for it is too long")
    return expression.replace(_PLACEHOLDER, text, 1)


def in_display(bound: Bound) -> Bound:
    """Where the argument is a list, tuple or dict display: the element, as an argument of its own.

    Raises NoArgument if it has no such element.
    """
    while bound.unpacked is None and bound.steps and isinstance(bound.steps[0], Item):
        key = literal(bound.steps[0].key)
        value = bound.argument.value
        element: cst.BaseExpression | None = None
        if isinstance(value, (cst.List, cst.Tuple)) and isinstance(key, int):
            element = _item(value, key, bound.name)
        elif isinstance(value, cst.Dict):
            element = _entry(value, key)
        if element is None:
            return bound
        argument = bound.argument.with_changes(value=element)
        bound = replace(bound, argument=argument, steps=bound.steps[1:])
    return bound


def _item(display: cst.List | cst.Tuple, index: int, name: str) -> cst.BaseExpression | None:
    """An item; None if that is open. Raises NoArgument if there is none."""
    if any(not isinstance(part, cst.Element) for part in display.elements):
        return None
    if not -1 < index < len(display.elements):
        raise NoArgument(f"{name} has no item {index} in this call")
    return display.elements[index].value


def _entry(display: cst.Dict, key: object) -> cst.BaseExpression | None:
    """The value of a key that is a literal; None if that is open."""
    found = None
    for part in display.elements:
        if not isinstance(part, cst.DictElement) or not isinstance(part.key, cst.SimpleString):
            return None
        if part.key.evaluated_value == key:
            found = part.value
    return found


def as_value(source: SourceFile, node: cst.BaseExpression) -> str:
    """The expression's text, in parentheses where it needs them to stand alone behind `=`."""
    text = source.code(node)
    alone = isinstance(node, (cst.NamedExpr, cst.GeneratorExp, cst.Yield))
    if node.lpar or not (alone or "\n" in text or "\r" in text):
        return text
    if alone:
        return f"({text})"
    try:
        cst.parse_statement(f"{_PLACEHOLDER} = {text}")
    except cst.ParserSyntaxError:
        return f"({text})"
    return text
