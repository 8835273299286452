"""The generator of random programs, without PyTorch: what it gives is the same everywhere and is Python."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.random_programs.branches import ALL
from scripts.random_programs.generate import generate
from scripts.random_programs.operations import BINARY, UNARY
from scripts.random_programs.scope import Scope, Tensor
from scripts.random_programs.statements import add

ROOT = Path(__file__).parents[1]
SEEDS = range(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_programs_parse_and_print_a_total(seed: int) -> None:
    tree = ast.parse(generate(seed))
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    assert ast.unparse(last).startswith("print('total'")
    assert any(
        ast.unparse(node.func) == "torch.compile"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    )


def test_programs_differ() -> None:
    assert len({generate(seed).partition("\n")[2] for seed in SEEDS}) == len(SEEDS)


def test_programs_do_not_depend_on_hashes() -> None:
    """A set or a hash on the way would make them differ from process to process."""
    code = "from scripts.random_programs.generate import generate; "
    code += "print(''.join(map(generate, range(30))), end='')"
    there = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert there[0] == there[1] == "".join(map(generate, range(30)))


@pytest.mark.slow
def test_every_operation_and_statement_is_reached() -> None:
    text = "".join(map(generate, range(800)))
    patterns = [operation.text for operation in UNARY] + [operation.text for operation in BINARY]
    missing = [pattern for pattern in patterns if _fixed_part(pattern) not in text]
    assert not missing
    for part in (
        "graph_break()",
        "torch._check(",
        "if y is not None:",
        "for item in items:",
        "else:",
    ):
        assert part in text


def _fixed_part(pattern: str) -> str:
    """The longest piece without an operand."""
    pieces = pattern.replace("{b}", "{a}").split("{a}")
    return max(pieces, key=len)


def test_a_block_hides_its_names_and_calls() -> None:
    scope = Scope(random.Random(0), 3, live=(0, 1, 2))
    scope.tensors.append(Tensor("x", ((2,), (3,), None)))
    assert scope.usable() == []
    with scope.block("if x is not None:", (0, 1)):
        assert [tensor.text for tensor in scope.usable()] == ["x"]
        scope.bind("x + 1", lambda call: (call,))
        assert scope.tensors[-1].shapes == ((0,), (1,), None)
    assert [tensor.text for tensor in scope.tensors] == ["x"]
    assert scope.lines == ["    if x is not None:", "        t0 = x + 1"]


def test_an_empty_scope_takes_any_statement() -> None:
    for seed in range(50):
        scope = Scope(random.Random(seed), 2, live=(0, 1))
        add(scope, 5, ALL)
        ast.parse("def f(out):\n" + "\n".join([*scope.lines, "    return out"]))
