"""What a generated body may use at a place: tensors and ints, with their shape and value in each call."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """An expression for a tensor; a shape is None in calls that do not have it."""

    text: str
    shapes: tuple[Shape | None, ...]
    integer: bool = False
    dense: bool = False
    """Whether it is contiguous in every call."""


@dataclass(frozen=True)
class Number:
    """An expression for an int."""

    text: str
    values: tuple[int | None, ...]


@dataclass(frozen=True)
class Choice:
    """An expression for a truth value: a flag, whether an optional input is there, a mode."""

    text: str
    values: tuple[bool, ...]


@dataclass
class Scope:
    """A body under construction. `live` are the calls that reach the current place."""

    rng: random.Random
    calls: int
    tensors: list[Tensor] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    lists: list[tuple[str, tuple[tuple[Shape, ...], ...]]] = field(default_factory=list)
    """Lists of tensors: expression, and the shapes of the elements in each call."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Tensors that the body made up: where they live, and the expression that makes them."""
    home: str = ""
    """Prefix of the parameters: `self.` in a module, nothing for globals."""
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    live: tuple[int, ...] = ()
    names: Iterator[int] = field(default_factory=count)

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def usable(self, fits: Callable[[Shape], bool] = lambda shape: True) -> list[Tensor]:
        """Float tensors that every live call has, with a shape that fits."""
        return [
            tensor
            for tensor in self.tensors
            if not tensor.integer
            and all(
                (shape := tensor.shapes[call]) is not None and fits(shape) for call in self.live
            )
        ]

    def usable_numbers(self, fits: Callable[[int], bool] = lambda value: True) -> list[Number]:
        return [
            number
            for number in self.numbers
            if all((value := number.values[call]) is not None and fits(value) for call in self.live)
        ]

    def bind(self, text: str, shape: Callable[[int], Shape], *, dense: bool = False) -> Tensor:
        """Assigns an expression to a new name; `shape` gives its shape in a live call."""
        name = f"t{next(self.names)}"
        self.emit(f"{name} = {text}")
        tensor = Tensor(name, self.per_call(shape), dense=dense)
        self.tensors.append(tensor)
        return tensor

    def per_call(self, value: Callable[[int], Shape]) -> tuple[Shape | None, ...]:
        return tuple(value(call) if call in self.live else None for call in range(self.calls))

    def parameter(self, *shape: int) -> str:
        name = f"{self.home}w{next(self.names)}"
        self.parameters[name] = f"torch.randn({', '.join(map(str, shape))})"
        return name

    @contextmanager
    def block(self, header: str, live: tuple[int, ...]) -> Iterator[None]:
        """An indented block that only `live` calls enter; its names are gone after it."""
        outer = self.live, list(self.tensors), list(self.numbers)
        self.emit(header)
        before = len(self.lines)
        self.indent += 1
        self.live = live
        yield
        if len(self.lines) == before:
            self.emit("pass")
        self.indent -= 1
        self.live, self.tensors, self.numbers = outer
