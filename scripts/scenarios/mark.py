"""Runs a program with marks: `python mark.py MARKS.json PROGRAM`.

MARKS.json maps `file:line:name` of a compiled function to statements in terms of its arguments, as
pgo-advisor's JSON gives them. Every function or module given to torch.compile whose code that is has the
statements run on its arguments before each call, which is what a person would write at the call site.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import runpy
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo


def marking(marks: dict[str, list[str]]) -> Callable[..., Any]:
    compile_: Any = torch.compile

    def compile_and_mark(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: compile_and_mark(function, **options)
        compiled = compile_(model, **options)
        function = model.forward if isinstance(model, torch.nn.Module) else model
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        key = code and f"{code.co_filename}:{code.co_firstlineno}:{code.co_name}"
        if key not in marks:
            return compiled
        statements = [compile(text, "<mark>", "exec") for text in marks[key]]
        signature = inspect.signature(function, follow_wrapped=False)
        method = isinstance(model, torch.nn.Module)

        def mark(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            bound = signature.bind(*((model, *args) if method else args), **kwargs)
            bound.apply_defaults()
            for statement in statements:
                # an optional input need not be there in every call
                with contextlib.suppress(AttributeError, IndexError, KeyError, TypeError):
                    exec(statement, {"torch": torch, **bound.arguments})

        if method:
            compiled.register_forward_pre_hook(
                lambda module, args, kwargs: mark(args, kwargs), with_kwargs=True
            )
            return compiled

        @functools.wraps(model)
        def marked(*args: Any, **kwargs: Any) -> Any:
            mark(args, kwargs)
            return compiled(*args, **kwargs)

        return marked

    return compile_and_mark


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        torch.compile = marking(json.load(file))
    program = sys.argv[2]
    sys.argv = sys.argv[2:]
    runpy.run_path(program, run_name="__main__")
