"""Tensor operations that a body is composed of, with the shapes that they take and give."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from scripts.random_programs.scope import Shape


class Unary(NamedTuple):
    """`text` has `{a}` for the operand."""

    text: str
    fits: Callable[[Shape], bool]
    gives: Callable[[Shape], Shape]
    dense: bool = False
    """Whether a contiguous operand gives a contiguous result."""
    needs_dense: bool = False


class Binary(NamedTuple):
    text: str
    gives: Callable[[Shape, Shape], Shape | None]
    """The shape of the result; None where the operands do not fit."""


def _any(shape: Shape) -> bool:
    return True


def _same(shape: Shape) -> Shape:
    return shape


def _rank(low: int, high: int = 9) -> Callable[[Shape], bool]:
    return lambda shape: low <= len(shape) <= high


def _flat(shape: Shape) -> Shape:
    return (prod(shape),)


def _first(change: Callable[[int], int]) -> Callable[[Shape], Shape]:
    return lambda shape: (change(shape[0]), *shape[1:])


def _last(change: Callable[[int], int]) -> Callable[[Shape], Shape]:
    return lambda shape: (*shape[:-1], change(shape[-1]))


def _filled(shape: Shape) -> bool:
    return len(shape) >= 1 and prod(shape) > 0


def _divisible(by: int) -> Callable[[Shape], bool]:
    return lambda shape: _filled(shape) and shape[0] % by == 0


UNARY = [
    Unary("torch.relu({a}) * 2.0", _any, _same, dense=True),
    Unary("{a} + 1", _any, _same, dense=True),
    Unary("torch.tanh({a}).clone()", _any, _same, dense=True),
    Unary("{a}.to(torch.float64).float()", _any, _same, dense=True),
    Unary("{a}.detach() - 0.5", _any, _same, dense=True),
    Unary("{a}.softmax(-1)", _filled, _same),
    Unary("{a}.cumsum(0)", _rank(1), _same),
    Unary("{a}.contiguous()", _any, _same, dense=True),
    Unary("{a} * {a}.shape[0]", _rank(1), _same, dense=True),
    Unary("{a} / max({a}.numel(), 1)", _any, _same, dense=True),
    Unary("{a} * float({a}.size(-1))", _rank(1), _same, dense=True),
    Unary("{a} * math.sqrt({a}.size(0))", _rank(1), _same, dense=True),
    Unary("{a}.reshape(-1)", _any, _flat, dense=True),
    Unary("{a}.flatten()", _any, _flat, dense=True),
    Unary("{a}.flatten(0, 1)", _rank(2), lambda s: (s[0] * s[1], *s[2:]), dense=True),
    Unary("{a}.view({a}.shape[0] * {a}.shape[1], -1)", lambda s: _filled(s) and len(s) == 3,
          lambda s: (s[0] * s[1], s[2]), dense=True, needs_dense=True),
    Unary("{a}.view({a}.size(0), -1)", lambda s: _filled(s) and len(s) > 1,
          lambda s: (s[0], prod(s[1:])), dense=True, needs_dense=True),
    Unary("{a}.reshape({a}.shape[0] // 4, 4, -1)", _divisible(4),
          lambda s: (s[0] // 4, 4, prod(s[1:])), dense=True),
    Unary("{a}.view(-1, 2)", _divisible(2), lambda s: (prod(s) // 2, 2), dense=True, needs_dense=True),
    Unary("{a}.reshape(-1, {a}.shape[-1])", _filled, lambda s: (prod(s[:-1]), s[-1]), dense=True),
    Unary("{a}.transpose(0, 1)", _rank(2), lambda s: (s[1], s[0], *s[2:])),
    Unary("{a}.transpose(0, -1).contiguous()", _rank(2), lambda s: (s[-1], *s[1:-1], s[0])),
    Unary("{a}.unsqueeze(0)", _rank(0, 3), lambda s: (1, *s), dense=True),
    Unary("{a}.unsqueeze(-1).expand(*{a}.shape, 3)", _rank(1, 3), lambda s: (*s, 3)),
    Unary("{a}[None].squeeze(0)", _any, _same, dense=True),
    Unary("{a}[: {a}.shape[0] // 2]", _rank(1), _first(lambda n: n // 2)),
    Unary("{a}[{a}.shape[0] // 2 :]", _rank(1), _first(lambda n: n - n // 2)),
    Unary("{a}[1:]", _rank(1), _first(lambda n: max(n - 1, 0))),
    Unary("{a}[:-1]", _rank(1), _first(lambda n: max(n - 1, 0))),
    Unary("{a}[..., :3]", _rank(1), _last(lambda n: min(n, 3))),
    Unary("{a}[::2]", _rank(1), _first(lambda n: -(-n // 2))),
    Unary("{a}[0]", _filled, lambda s: s[1:]),
    Unary("{a}[:, -1]", lambda s: len(s) > 1 and s[1] > 0, lambda s: (s[0], *s[2:])),
    Unary("{a}.sum(0)", _rank(1), lambda s: s[1:]),
    Unary("{a}.mean(-1)", _rank(1), lambda s: s[:-1]),
    Unary("{a}.amax(0)", _filled, lambda s: s[1:]),
    Unary("{a}.sum(-1, keepdim=True)", _rank(1), _last(lambda n: 1)),
    Unary("torch.cat([{a}, {a}])", _rank(1), _first(lambda n: 2 * n), dense=True),
    Unary("torch.stack([{a}, {a} + 1])", _rank(0, 3), lambda s: (2, *s), dense=True),
    Unary("torch.cat([{a}, {a}.new_zeros(1, *{a}.shape[1:])])", _rank(1), _first(lambda n: n + 1),
          dense=True),
    Unary("F.pad({a}, (0, 1))", _rank(1), _last(lambda n: n + 1), dense=True),
    Unary("{a}.chunk(2, dim=0)[0]", lambda s: _filled(s) and s[0] > 1, _first(lambda n: -(-n // 2))),
    Unary("{a}.split(2)[0]", lambda s: _filled(s), _first(lambda n: min(n, 2))),
    Unary("{a}.repeat_interleave(2, dim=0)", _rank(1), _first(lambda n: 2 * n), dense=True),
    Unary("torch.roll({a}, 1, 0)", _filled, _same),
    Unary("{a} @ {a}.transpose(-1, -2)", _rank(2), lambda s: (*s[:-1], s[-2])),
    Unary("F.layer_norm({a}, {a}.shape[-1:])", _filled, _same),
    Unary("{a} + torch.arange({a}.shape[-1])", _rank(1), _same, dense=True),
    Unary("{a} * torch.ones({a}.shape[0], 1)", lambda s: len(s) == 2, _same, dense=True),
    Unary("{a}.masked_fill({a} > 0, 0.5)", _any, _same, dense=True),
    Unary("torch.where({a} > 0, {a}, -{a})", _any, _same, dense=True),
    Unary("torch.outer({a}, {a})", lambda s: len(s) == 1, lambda s: (s[0], s[0]), dense=True),
    Unary("torch.zeros_like({a}) + {a}.shape[-1]", _rank(1), _same, dense=True),
    Unary("{a}.diff(dim=0)", _rank(1), _first(lambda n: max(n - 1, 0))),
    Unary("torch.einsum('i...,i...->i...', {a}, {a})", _rank(1), _same),
]  # fmt: skip


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    sizes = []
    for left, right in pairs:
        if left != right and 1 not in (left, right):
            return None
        sizes.append(right if left == 1 else left)
    return tuple(sizes)


def _cat(dim: int) -> Callable[[Shape, Shape], Shape | None]:
    def gives(a: Shape, b: Shape) -> Shape | None:
        if not a or len(a) != len(b):
            return None
        place = dim % len(a)
        if a[:place] + a[place + 1 :] != b[:place] + b[place + 1 :]:
            return None
        return (*a[:place], a[place] + b[place], *a[place + 1 :])

    return gives


def _equal(gives: Callable[[Shape], Shape]) -> Callable[[Shape, Shape], Shape | None]:
    return lambda a, b: gives(a) if a == b else None


def _matmul(a: Shape, b: Shape) -> Shape | None:
    return (a[0], b[1]) if len(a) == len(b) == 2 and a[1] == b[0] else None


def _matmul_transposed(a: Shape, b: Shape) -> Shape | None:
    return (a[0], b[0]) if len(a) == len(b) == 2 and a[1] == b[1] else None


BINARY = [
    Binary("{a} + {b}", _broadcast),
    Binary("{a} * {b}", _broadcast),
    Binary("torch.maximum({a}, {b})", _broadcast),
    Binary("torch.where({b} > 0, {a}, {b})", _broadcast),
    Binary("torch.cat([{a}, {b}])", _cat(0)),
    Binary("torch.cat([{a}, {b}], dim=-1)", _cat(-1)),
    Binary("torch.stack([{a}, {b}], dim=0)", _equal(lambda s: (2, *s))),
    Binary("{a} @ {b}.to({a}.dtype)", _matmul),
    Binary("{a} @ {b}.t().to({a}.dtype)", _matmul_transposed),
    Binary("{a}.reshape(-1)[: {b}.shape[0]]",
           lambda a, b: (min(prod(a), b[0]),) if b else None),
    Binary("{a} * {b}.shape[0]", lambda a, b: a if b else None),
    Binary("{a}.reshape({b}.shape) + {b}", lambda a, b: b if prod(a) == prod(b) else None),
    Binary("{a}.expand_as({b}) * 2", lambda a, b: b if _broadcast(a, b) == b else None),
    Binary("torch.outer({a}, {b})", lambda a, b: (a[0], b[0]) if len(a) == len(b) == 1 else None),
    Binary("{a}.sum() + {b}", lambda a, b: b),
]  # fmt: skip
