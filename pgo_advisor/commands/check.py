"""`pgo-advisor check`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from pgo_advisor.commands.common import (
    MAP_OPTION,
    end_on_signals,
    input_options,
    paths_argument,
    remark,
    run_analysis,
)
from pgo_advisor.files import temporary_directory

if TYPE_CHECKING:
    from pgo_advisor.check.violations import Checked
    from pgo_advisor.compare.places import Checkout
    from pgo_advisor.patch import PathMap

FOUND = 1
_PROGRAM = "pgo_advisor.program"
_EPILOG = (
    "Exit codes: 0 nothing is too much; 1 something is; 2 wrong usage, or budgets that mean nothing; 3 an "
    "input that does not exist or holds no compile; 4 tlparse fails; of a COMMAND its own, if that is not 0."
)
_FORMATS = ("text", "github", "sarif", "junit")


class _PathsOrProgram(cloup.Command):
    """Takes what follows `--` as a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_PROGRAM] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def _numbers(
    ctx: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """`NAME=N` as a number for each name; `N` alone is for `all`."""
    found = {}
    for value in values:
        name, _, number = value.rpartition("=")
        if not number.isascii() or not number.isdigit() or len(number) > 9:
            raise click.BadParameter(f"{value!r} does not end with a number")
        if not name and option.name == "max_graphs":
            raise click.BadParameter(f"{value!r} is not PATTERN=N")
        found[name or "all"] = int(number)
    return found


def _outputs(
    ctx: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Path | None]:
    """The formats, each with its file; None is standard output."""
    told = (value.partition("=") for value in values or ("text",))
    found = {name: Path(file) if file else None for name, _, file in told}
    if unknown := [name for name in found if name not in _FORMATS]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(_FORMATS)}")
    if list(found.values()).count(None) > 1:
        raise click.BadParameter(
            "only one format goes to standard output; give the others FORMAT=FILE"
        )
    return found


@cloup.command(cls=_PathsOrProgram, epilog=_EPILOG)
@cloup.option_group(
    "Budgets",
    cloup.option(
        "--max-recompiles",
        multiple=True,
        callback=_numbers,
        metavar="[CAUSE=]N",
        help="Most recompiles in all, or for a cause: shape, value, limit, other, tensor-size, …",
    ),
    cloup.option(
        "--max-graphs",
        multiple=True,
        callback=_numbers,
        metavar="PATTERN=N",
        help="Most graphs of each function that is called so, as 'Attention.forward=3'.",
    ),
    cloup.option("--max-compile-seconds", type=click.FloatRange(min=0), metavar="SECONDS"),
    cloup.option("--no-limit-hit", is_flag=True, help="No function may hit the recompile limit."),
    cloup.option(
        "--no-eager-fallback",
        is_flag=True,
        help="Nor may a compile fail: what the record shows of functions that run eagerly.",
    ),
    cloup.option(
        "--expected-static",
        multiple=True,
        metavar="PATTERN",
        help="Functions or inputs that get a graph for each size on purpose.",
    ),
    cloup.option(
        "--select",
        multiple=True,
        metavar="CODE",
        help="Rules that may find nothing: PGO101, PGO1, ALL; see pgo-advisor explain.",
    ),
    cloup.option(
        "--ignore",
        multiple=True,
        metavar="CODE|PATTERN",
        help="Rules, or functions, that are not looked at.",
    ),
)
@cloup.option_group(
    "Baseline and output",
    cloup.option(
        "--baseline", metavar="FILE", help="Only recompiles that it does not have are too many."
    ),
    cloup.option("--update-baseline", is_flag=True, help="Write the recompiles of now into it."),
    cloup.option(
        "--format",
        "formats",
        multiple=True,
        callback=_outputs,
        metavar="FORMAT[=FILE]",
        help="text (default), github, sarif or junit; repeat it with files for several.",
    ),
    MAP_OPTION,
)
@paths_argument(required=False)  # a program can take their place
@input_options
def check(
    paths: tuple[str, ...],
    torch_version: str | None,
    timeout: float,
    baseline: str | None,
    update_baseline: bool,
    formats: dict[str, Path | None],
    maps: tuple[PathMap, ...],
    **options: Any,
) -> None:
    """Fail if a run recompiles more than it may.

    PATH is what analyze takes. After -- stands a program that is run: `pgo-advisor check -- python train.py`.
    Budgets are options, or stand in [tool.pgo-advisor] of pyproject.toml. Without any, every recompile is
    too many.
    """
    from pgo_advisor.check import baseline as baselines
    from pgo_advisor.check.budgets import budgets
    from pgo_advisor.check.violations import check as compare
    from pgo_advisor.check.violations import considered
    from pgo_advisor.compare.functions import functions_of
    from pgo_advisor.compare.places import Checkout

    program = click.get_current_context().meta.get(_PROGRAM)
    if bool(paths) == bool(program):
        raise click.UsageError("Name what to check: PATH..., or -- COMMAND...")
    given = {name.replace("_", "-"): value for name, value in options.items()}
    allowed = budgets({**given, "baseline": baseline}, Path.cwd())
    if update_baseline and not allowed.baseline:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    known = (
        None if update_baseline or not allowed.baseline else baselines.read(Path(allowed.baseline))
    )
    checkout = Checkout(maps=maps)
    with _recorded(program) if program else _as_given(paths) as (read, code):
        analysis = run_analysis(read, torch_version, timeout)
    for loss in analysis.losses:
        remark(loss)
    functions = considered(functions_of(analysis, checkout), allowed)
    if update_baseline and allowed.baseline:
        baselines.write(Path(allowed.baseline), functions, checkout)
        remark(f"{allowed.baseline} holds the recompiles of this run")
        sys.exit(code)
    new = None
    if known:
        new, gone = baselines.compared(known, functions, checkout)
        if gone:
            remark(f"{gone} recompiles of the baseline are gone; --update-baseline takes them out")
    checked = compare(analysis, functions, allowed, new)
    for note in checked.notes:
        remark(note)
    _write(checked, checkout, formats)
    sys.exit(code or (FOUND if checked.violations else 0))


@contextmanager
def _as_given(paths: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    yield paths, 0


@contextmanager
def _recorded(program: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The logs of a run of the program, whose output goes to standard error, and its exit code."""
    from pgo_advisor.errors import NoCompileError
    from pgo_advisor.run.record import record, why_nothing

    end_on_signals()
    with temporary_directory("pgo-advisor-trace-") as trace:
        run = record(program, trace, files={1: 2})
        for note in run.notes:
            remark(note)
        if run.exit_code:
            remark(f"the program ended with exit code {run.exit_code}")
        if not run.logs:
            raise NoCompileError(f"no compile was recorded. {why_nothing(program)}")
        yield tuple(map(str, run.logs)), run.exit_code


def _write(checked: Checked, checkout: Checkout, formats: dict[str, Path | None]) -> None:
    from pgo_advisor.check.junit import render_junit
    from pgo_advisor.check.sarif import render_sarif
    from pgo_advisor.check.text import render_github, render_text
    from pgo_advisor.files import replace_file

    renderings: dict[str, Callable[[Checked, Checkout], str]] = {
        "text": render_text,
        "github": render_github,
        "sarif": render_sarif,
        "junit": render_junit,
    }
    for name, file in formats.items():
        text = renderings[name](checked, checkout)
        if file is None:
            click.echo(text, nl=False)
        else:
            replace_file(file, text.encode("utf-8", "replace"))
