"""Counts the structure of a checkout: `python -m scripts.figures [ROOT]`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from scripts.architecture.imports import circles, floors, imports

Function = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (
    *(ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert),
    *(ast.comprehension, ast.match_case),
)


@click.command()
@click.argument("root", default=".", type=click.Path(exists=True, path_type=Path))
def main(root: Path) -> None:
    """Print lines, modules, floors, circles, and the longest and the most complex functions of ROOT."""
    sys.path.insert(0, str(root.resolve()))  # where grimp looks for the package
    package = root / "pgo_advisor"
    files = sorted(package.rglob("*.py"))
    functions = [function for file in files for function in _functions(file)]
    modules = imports()
    round_ = [circle for circle in circles(modules) if len(circle) > 1]
    names = ", ".join(str(len(circle)) for circle in round_)
    click.echo(f"lines: {sum(len(_text(file).splitlines()) for file in files)}")
    click.echo(f"modules: {len(files)}, {len(list(package.glob('*.py')))} of them flat")
    click.echo(
        f"longest module: {max((len(_text(file).splitlines()), file.name) for file in files)}"
    )
    click.echo(f"floors: {max(floors(modules).values())}")
    click.echo(f"circles: {len(round_)}" + f", of {names} modules" * bool(round_))
    for what, figure in (("longest", _length), ("most complex", _complexity)):
        first = sorted(functions, key=lambda each: -figure(each[1]))[:5]
        told = ", ".join(f"{figure(each)} {file.stem}.{each.name}" for file, each in first)
        click.echo(f"{what} functions: {told}")
    over = sum(_complexity(function) > 10 for _, function in functions)
    click.echo(f"functions with a complexity over 10: {over} of {len(functions)}")


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _functions(file: Path) -> Iterator[tuple[Path, Function]]:
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, Function):
            yield file, node


def _length(function: Function) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def _complexity(function: Function) -> int:
    """McCabe's number as radon counts it: `and`, `or`, conditions and comprehensions are branches, too."""
    return 1 + sum(_branches(node) for node in ast.walk(function) if node is not function)


def _branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return 1 + bool(node.orelse)
    return isinstance(node, BRANCHES)


if __name__ == "__main__":
    main()
