"""One compiled function or module of a program, with its calls."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scripts.random_programs.branches import ALL
from scripts.random_programs.scope import Scope
from scripts.random_programs.signature import Signature, signature
from scripts.random_programs.statements import add

OPTIONS = ["", "", "", "", "", "", ", dynamic=False", ", dynamic=True"]
MODES = ["torch.no_grad()", "torch.inference_mode()", 'torch.autocast("cpu", dtype=torch.bfloat16)']


@dataclass
class Unit:
    """Its definition, and for each call the lines that make it and add what it gives to `total`."""

    definition: list[str]
    calls: list[list[str]]


def unit(rng: random.Random, name: str) -> Unit:
    calls = rng.randint(3, 10)
    kind = rng.choice([*DEFINE, "function", "function", "module"])
    home = "self." if kind == "module" else f"{name}_"
    scope = Scope(rng, calls, live=tuple(range(calls)), home=home)
    made = signature(scope, kind, name)
    inputs = list(scope.tensors)
    scope.emit("out = torch.zeros(())")
    add(scope, rng.randint(2, 8), ALL)
    if rng.random() < 0.5:
        for used in inputs:
            if used in scope.usable():
                scope.emit(f"out = out + {used.text}.mean()")
    scope.emit("return out")
    definition = DEFINE[kind](rng, name, scope, made)
    return Unit(definition, [_call(rng, name, kind, made, call) for call in range(calls)])


def _compile(rng: random.Random, what: str = "") -> str:
    options = f'backend="eager"{rng.choice(OPTIONS)}'
    return f"torch.compile({what}, {options})" if what else f"@torch.compile({options})"


def _globals(scope: Scope) -> list[str]:
    return [f"{name} = {text}" for name, text in scope.parameters.items()] + ["", ""]


def _function(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    return [*_globals(scope), _compile(rng), f"def {name}({made}):", *scope.lines]


def _twice(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    """One function compiled twice, which share a frame."""
    both = f"[{_compile(rng, f'{name}_plain')}, {_compile(rng, f'{name}_plain')}]"
    return [
        *_globals(scope),
        f"def {name}_plain({made}):",
        *scope.lines,
        "",
        "",
        f"{name} = {both}",
    ]


def _wrapped(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    """A compiled wrapper that knows nothing of the arguments."""
    return [
        *_globals(scope),
        f"def {name}_inner({made}):",
        *scope.lines,
        "",
        "",
        _compile(rng),
        f"def {name}(*args, **kwargs):",
        f"    return {name}_inner(*args, **kwargs)",
    ]


def _closure(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    return [
        *_globals(scope),
        f"def make_{name}(size):",
        f"    {_compile(rng)}",
        f"    def {name}({made}):",
        *("    " + line for line in scope.lines),
        f"    return {name}",
    ]


def _method(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    return [
        *_globals(scope),
        f"class {name.title()}Owner:",
        f"    {_compile(rng)}",
        f"    def run(self, {made}):",
        *("    " + line for line in scope.lines),
        "",
        "",
        f"{name}_object = {name.title()}Owner()",
        f"{name} = {name}_object.run",
    ]


def _module(rng: random.Random, name: str, scope: Scope, made: Signature) -> list[str]:
    attributes = [
        f"        {attribute} = {f'torch.nn.Parameter({text})' if rng.random() < 0.6 else text}"
        for attribute, text in scope.parameters.items()
    ]
    if rng.random() < 0.6:
        attributes.append('        self.register_buffer("cache", torch.randn(1, 4))')
    return [
        f"class {name.title()}Owner(torch.nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        *attributes,
        "",
        f"    def forward(self, {made}):",
        *("    " + line for line in scope.lines),
        "",
        "",
        f"{name}_object = {name.title()}Owner()",
        f"{name} = {_compile(rng, f'{name}_object')}",
    ]


DEFINE = {
    "function": _function,
    "twice": _twice,
    "wrapped": _wrapped,
    "closure": _closure,
    "method": _method,
    "module": _module,
}


def _call(rng: random.Random, name: str, kind: str, made: Signature, call: int) -> list[str]:
    lines = list(made.before[call])
    arguments = made.arguments(call, keywords=kind == "wrapped")
    chance = rng.random()
    alike = [p for p in made.parameters if p.shapes and not p.keyword]
    shapes = [p.shapes[call] for p in alike if p.shapes]
    if chance < 0.04 and len(alike) > 1 and shapes[0] == shapes[1]:
        lines.append(f"same = {alike[0].arguments[call]}")
        arguments = [
            text.replace(str(parameter.arguments[call]), "same") if parameter in alike[:2] else text
            for parameter, text in zip(made.parameters, arguments, strict=False)
        ]
    elif chance < 0.07 and alike and shapes[0]:
        lines.append(f"marked = {alike[0].arguments[call]}")
        lines.append("torch._dynamo.maybe_mark_dynamic(marked, 0)")
        arguments = [text.replace(str(alike[0].arguments[call]), "marked") for text in arguments]
    called = f"{name}[{rng.randrange(2)}]" if kind == "twice" else name
    text = f"{called}({', '.join(arguments)})"
    chance = rng.random()
    if chance < 0.08:
        return [*lines, f"with {rng.choice(MODES)}:", f"    total += float({text})"]
    if chance < 0.13:
        return [
            *lines,
            f"out = {text}",
            "if out.requires_grad:",
            "    out.backward()",
            "total += float(out.detach())",
        ]
    return [*lines, f"total += float({text})"]
