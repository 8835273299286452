"""Stands in for torch in the programs of call_sites: what is compiled checks that its inputs are marked."""

from __future__ import annotations

import functools
import inspect
import sys
from types import ModuleType, SimpleNamespace
from typing import Any


class Tensor:
    def __init__(self, *size: int) -> None:
        self.size = size
        self.marks: set[int] = set()

    def __getitem__(self, key: object) -> Tensor:
        return Tensor(*self.size)

    def __add__(self, other: Tensor) -> Tensor:
        return Tensor(*self.size)

    def __iter__(self) -> Any:
        return iter([Tensor(*self.size[1:])])

    def __len__(self) -> int:
        return self.size[0]

    def __abs__(self) -> Tensor:
        return self

    def __str__(self) -> str:
        return ""

    @property
    def T(self) -> Tensor:
        return Tensor(*reversed(self.size))

    def sum(self) -> Tensor:
        return self

    def item(self) -> float:
        return 0.0


class Module:
    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]


def fake_torch(name: str, wanted: dict[str, int], unmarked: list[str]) -> ModuleType:
    """A torch that puts into `unmarked` what function `name` is passed without the mark that it should have.

    `wanted` maps an expression in the function's arguments, and a dim, to that dim.
    """

    def mark(tensor: Tensor, dims: int | list[int], **limits: int) -> None:
        tensor.marks.update(dims if isinstance(dims, list) else [dims])

    def check(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        for text, dim in wanted.items():
            try:
                value = eval(text.rpartition(" ")[0], {}, dict(bound.arguments))
            except (IndexError, KeyError, NameError):
                continue
            if isinstance(value, Tensor) and dim not in value.marks:
                unmarked.append(text)

    def compile_(function: Any) -> Any:
        plain: Any = getattr(function, "forward", function)

        @functools.wraps(plain)
        def call(*args: object, **kwargs: object) -> object:
            if plain.__name__ == name:
                check(plain, args, kwargs)
            return plain(*args, **kwargs)

        return call

    torch = ModuleType("torch")
    vars(torch).update(
        compile=compile_,
        Tensor=Tensor,
        randn=Tensor,
        nn=SimpleNamespace(Module=Module),
        _dynamo=SimpleNamespace(
            mark_dynamic=mark, maybe_mark_dynamic=mark, mark_static=lambda tensor, dim: None
        ),
        __file__=sys.executable,
    )
    return torch
