"""Inputs of a generated function: what they are in each call, and how a program makes them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TypeVar

from scripts.random_programs.scope import Shape

Kind = TypeVar("Kind", bool, str)


def sizes(rng: random.Random, calls: int) -> list[int]:
    """How one size goes over the calls."""
    start = rng.randint(2, 9)
    kind = rng.choice(
        ["fixed", "fixed", "varied", "varied", "two", "late", "zero one", "fours", "growing", "few"]
    )
    if kind == "fixed":
        return [start] * calls
    if kind == "two":
        return [rng.choice([start, start + 3]) for _ in range(calls)]
    if kind == "late":
        change = rng.randrange(1, calls)
        return [start if call < change else rng.randint(2, 12) for call in range(calls)]
    if kind == "zero one":
        return [rng.choice([0, 1, 1, start, start + 1, start + 4]) for _ in range(calls)]
    if kind == "fours":
        return [4 * rng.randint(1, 4) for _ in range(calls)]
    if kind == "growing":
        return [start + call for call in range(calls)]
    if kind == "few":
        return [rng.randint(2, 4) for _ in range(calls)]
    return [rng.randint(2, 12) for _ in range(calls)]


class Dims:
    """Sizes that several inputs share: equal in all calls, or equal at first."""

    def __init__(self, rng: random.Random, calls: int) -> None:
        self._rng, self._calls = rng, calls
        self._pool = [sizes(rng, calls) for _ in range(rng.randint(2, 4))]

    def pick(self) -> list[int]:
        known = self._rng.choice(self._pool)
        chance = self._rng.random()
        if chance < 0.7:
            return known
        if chance < 0.8:
            same = self._rng.randrange(1, self._calls)
            return known[:same] + sizes(self._rng, self._calls)[same:]
        return [self._rng.randint(1, 5)] * self._calls


@dataclass(frozen=True)
class Making:
    """How the calls make one tensor."""

    shapes: list[Shape | None]
    dtypes: list[str]
    layouts: list[str]
    gradients: list[bool]

    @property
    def integer(self) -> bool:
        return self.dtypes[0] == "int64"

    @property
    def dense(self) -> bool:
        return set(self.layouts) == {"dense"}

    @property
    def ordinary(self) -> bool:
        return self.dense and set(self.dtypes) == {"float32"} and not any(self.gradients)

    def expression(self, call: int) -> str:
        shape, dtype, layout = self.shapes[call], self.dtypes[call], self.layouts[call]
        if shape is None:
            return "None"
        if self.integer:
            return f"torch.randint(0, 5, ({''.join(f'{size}, ' for size in shape)}))"
        created, view = shape, ""
        if layout == "transposed" and len(shape) > 1:
            created, view = (shape[-1], *shape[1:-1], shape[0]), ".transpose(0, -1)"
        elif layout == "sliced" and shape:
            created, view = (*shape[:-1], shape[-1] + 3), f"[..., :{shape[-1]}]"
        elif layout == "stepped" and shape:
            created, view = (*shape[:-1], 2 * shape[-1]), "[..., ::2]"
        elif layout == "expanded" and len(shape) > 1:
            created, view = (1, *shape[1:]), f".expand({', '.join(map(str, shape))})"
        options = "" if dtype == "float32" else f", dtype=torch.{dtype}"
        text = f"torch.randn({', '.join(map(str, created)) or '()'}{options}){view}"
        return f"{text}.requires_grad_()" if self.gradients[call] else text


def tensor(rng: random.Random, dims: Dims, calls: int, *, optional: bool) -> Making:
    rank = rng.choice([1, 1, 2, 2, 2, 3])
    columns = [dims.pick() for _ in range(rank)]
    shapes: list[Shape | None] = [
        tuple(column[call] for column in columns) for call in range(calls)
    ]
    if rng.random() < 0.08:
        shapes = [shape if rng.random() < 0.6 else (2, *(shape or ())) for shape in shapes]
    if optional:
        shapes = [shape if rng.random() < 0.6 else None for shape in shapes]
    integer = rng.random() < 0.1
    return Making(
        shapes,
        ["int64"] * calls if integer else _mostly(rng, calls, "float32", ["float64"]),
        _mostly(rng, calls, "dense", ["transposed", "sliced", "stepped", "expanded"]),
        [False] * calls if integer else _mostly(rng, calls, False, [True]),
    )


def _mostly(rng: random.Random, calls: int, usual: Kind, others: list[Kind]) -> list[Kind]:
    """The usual one in every call; sometimes another one in every or in some calls."""
    chance = rng.random()
    if chance < 0.85:
        return [usual] * calls
    other = rng.choice(others)
    return [other if chance < 0.9 or rng.random() < 0.4 else usual for _ in range(calls)]


def ints(rng: random.Random, calls: int) -> list[int]:
    start = rng.randint(0, 5)
    kind = rng.choice(["fixed", "varied", "growing", "two", "late"])
    if kind == "fixed":
        return [start] * calls
    if kind == "growing":
        return [start + call for call in range(calls)]
    if kind == "two":
        return [rng.choice([start, start + 1]) for _ in range(calls)]
    if kind == "late":
        change = rng.randrange(1, calls)
        return [start if call < change else start + 2 for call in range(calls)]
    return [rng.randint(0, 6) for _ in range(calls)]
