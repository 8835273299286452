"""Relations between sizes, as PyTorch prints them in shape guards, and their evaluation.

`17 <= L['x'].size()[0]`, `((s77//2)) <= s77`, `Ne(Mod(s0, 8), 0)`: printed by
`torch/utils/_sympy/printers.py` and sympy's own `str`. Nothing is executed: the text is read with
`ast`, and only arithmetic on numbers is known.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import Any, NamedTuple

MAX_LENGTH = 20_000
"""Longer relations are not read: Python's parser needs memory and stack in proportion."""

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Lt": operator.lt,
    "Le": operator.le,
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": lambda a, b: -(-a // b),
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "Max": max,
    "Min": min,
    "max": max,
    "min": min,
    "Abs": abs,
    "abs": abs,
    "floor": math.floor,
    "ceiling": math.ceil,
    "math.floor": math.floor,
    "math.ceil": math.ceil,
    "ToFloat": float,
    "float": float,
    "TruncToInt": int,
    "int": int,
    "Not": operator.not_,
    "And": lambda *parts: all(parts),
    "Or": lambda *parts: any(parts),
    "Identity": lambda value: value,
}
_MAX_POWER = 64


class _Unknown(Exception):
    """An operation, a name or a value that evaluation does not know."""


class Relation(NamedTuple):
    """A parsed relation, with its `numbers`; `names` are the sizes, ints or symbols that it speaks of.

    In `tree` each of them is one `ast.Name`, as is each function.
    """

    text: str
    tree: ast.expr
    names: frozenset[str]
    numbers: frozenset[Number]

    def holds(self, values: Mapping[str, Number]) -> bool | None:
        """Whether the relation is true of `values`; None if one is missing or it cannot be told."""
        try:
            return bool(_evaluate(self.tree, values))
        except (_Unknown, ArithmeticError, TypeError, ValueError, RecursionError):
            return None

    def named(self, symbols: Mapping[str, str]) -> str:
        """The relation in terms of what its symbols stand for."""
        tree = deepcopy(self.tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = symbols.get(node.id, node.id)
        return ast.unparse(tree)

    def with_number(self, old: Number, new: Number) -> Relation:
        """The same relation with another number in the place of one."""
        tree = deepcopy(self.tree)
        for node, value in _numbers(tree):
            if value == old:
                node.value = new
        return self._replace(tree=tree)

    def equal_names(self) -> tuple[str, str] | None:
        """The two names of a bare equality `a == b` or `Eq(a, b)`; None for any other relation."""
        tree = self.tree
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq):
            left, right = tree.left, tree.comparators[0]
        elif isinstance(tree, ast.Call) and _function(tree) == "Eq" and len(tree.args) == 2:
            left, right = tree.args
        else:
            return None
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            return left.id, right.id
        return None

    def constant_side(self) -> float | None:
        """The float that an equality requires its left side, an expression, to be; None if it is no such."""
        tree = self.tree
        if not (isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.Eq)):
            return None
        constant = tree.comparators[0]
        if isinstance(tree.left, ast.Name) or not isinstance(constant, ast.Constant):
            return None
        return constant.value if isinstance(constant.value, float) else None

    def solved(self) -> float | None:
        """What the one name of such an equality has to be, if the expression is linear in it."""
        tree, value = self.tree, self.constant_side()
        if value is None or len(self.names) != 1 or not isinstance(tree, ast.Compare):
            return None
        (name,) = self.names
        try:
            at_0, at_1, at_2 = (_evaluate(tree.left, {name: at}) for at in (0.0, 1.0, 2.0))
            linear = at_0 != at_1 and math.isclose(at_2 - at_1, at_1 - at_0)
            return float((value - at_0) / (at_1 - at_0)) if linear else None
        except (_Unknown, ArithmeticError, TypeError, ValueError, RecursionError):
            return None

    def is_about_strides(self) -> bool:
        return any(".stride()[" in name for name in self.names)

    def is_about_an_offset(self) -> bool:
        """Whether it speaks of where in its storage a tensor begins."""
        return any(name.endswith(".storage_offset()") for name in self.names)

    def is_lower_bound(self) -> bool:
        """Whether it only says that one name is at least 2 (or less), as every dynamic size is."""
        tree = self.tree
        if len(self.names) != 1 or not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            return False
        left, right, operation = tree.left, tree.comparators[0], type(tree.ops[0])
        if operation in (ast.Gt, ast.GtE):
            left, right = right, left
        if not isinstance(left, ast.Constant) or isinstance(right, ast.BinOp | ast.UnaryOp):
            return False
        if not isinstance(left.value, int | float):
            return False
        strict = operation in (ast.Lt, ast.Gt)
        return operation in (ast.Lt, ast.LtE, ast.Gt, ast.GtE) and left.value <= (
            1 if strict else 2
        )


@lru_cache(maxsize=65_536)
def parse_relation(text: str) -> Relation | None:
    """Reads a relation; None if `text` is not one or is longer than `MAX_LENGTH`."""
    text = text.strip()
    if len(text) > MAX_LENGTH:
        return None
    try:
        names: set[str] = set()
        tree = _named(ast.parse(text, mode="eval").body, text, names)
    except (_Unknown, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Relation(text, tree, frozenset(names), frozenset(number for _, number in _numbers(tree)))


def _named(node: ast.expr, text: str, names: set[str]) -> ast.expr:
    """The node with its names as `ast.Name`s, which are collected. Raises _Unknown."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare):
        return _named_operation(node, text, names)
    if isinstance(node, ast.Call) and not node.keywords:
        function = ast.unparse(node.func)
        if function in _FUNCTIONS:
            parts = [_named(part, text, names) for part in node.args]
            return ast.Call(ast.Name(function), parts, [])
    if isinstance(node, ast.Name | ast.Subscript | ast.Attribute | ast.Call):
        segment = ast.get_source_segment(text, node)
        if segment:
            names.add(segment)
            return ast.Name(segment)
    raise _Unknown


def _named_operation(
    node: ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare, text: str, names: set[str]
) -> ast.expr:
    if isinstance(node, ast.UnaryOp):
        return ast.UnaryOp(node.op, _named(node.operand, text, names))
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(node.op, [_named(part, text, names) for part in node.values])
    if isinstance(node, ast.BinOp):
        if type(node.op) not in _BINARY and not isinstance(node.op, ast.Pow):
            raise _Unknown
        left, right = _named(node.left, text, names), _named(node.right, text, names)
        return ast.BinOp(left, node.op, right)
    if any(type(op) not in _COMPARE for op in node.ops):
        raise _Unknown
    left, *others = (_named(part, text, names) for part in (node.left, *node.comparators))
    return ast.Compare(left, node.ops, others)


def _numbers(tree: ast.expr) -> Iterator[tuple[ast.Constant, Number]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield node, node.value


def _function(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _evaluate(node: ast.expr, values: Mapping[str, Number]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in values:
            raise _Unknown
        return values[node.id]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, values), _evaluate(node.right, values)
        if isinstance(node.op, ast.Pow):
            if abs(right) > _MAX_POWER or abs(left) > 2**63:
                raise _Unknown
            return left**right
        return _BINARY[type(node.op)](left, right)
    if isinstance(node, ast.UnaryOp):
        operand = _evaluate(node.operand, values)
        return not operand if isinstance(node.op, ast.Not) else -operand
    if isinstance(node, ast.BoolOp):
        parts = [_evaluate(part, values) for part in node.values]
        return all(parts) if isinstance(node.op, ast.And) else any(parts)
    if isinstance(node, ast.Compare):
        terms = [_evaluate(part, values) for part in (node.left, *node.comparators)]
        return all(
            _COMPARE[type(op)](left, right)
            for op, left, right in zip(node.ops, terms, terms[1:], strict=False)
        )
    if not isinstance(node, ast.Call):
        raise _Unknown
    return _FUNCTIONS[_function(node)](*(_evaluate(part, values) for part in node.args))
