"""The command line: options in, renderings out. The work is done elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pgo_advisor import __version__
from pgo_advisor.errors import PgoAdvisorError

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis

_Command = TypeVar("_Command", bound=Callable[..., Any])
_ENV_FORMATS = (
    "shell",
    "value",
    "fish",
    "powershell",
    "dotenv",
    "dockerfile",
    "yaml",
    "python",
    "json",
)

_EPILOG = (
    "Exit codes: 0 done, also if there is nothing to advise; 2 wrong usage, or an output that exists or "
    "cannot be written; 3 an input that does not exist or cannot be analysed; 4 tlparse is missing, too "
    "old, or fails."
)


class _Commands(click.Group):
    """Turns what pgo-advisor knows to go wrong into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PgoAdvisorError as error:
            from pgo_advisor.render.text import one_line

            click.echo(f"pgo-advisor: {one_line(str(error), 2000)}", err=True)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # whoever read the output has had enough, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)


@click.group(cls=_Commands, epilog=_EPILOG)
@click.version_option(__version__, prog_name="pgo-advisor")
def main() -> None:
    """Says which inputs of a torch.compile program to mark dynamic, how, and what it saves.

    PATH is what a run left behind: a TORCH_TRACE directory or a log in it, a directory that tlparse
    wrote, or a PGO text artifact. Several paths, as of several ranks, are analysed together as one job.
    """


def _inputs(command: _Command) -> _Command:
    """The arguments and options that say what is analysed."""
    for decorate in (
        click.option(
            "--tlparse-timeout",
            "timeout",
            type=click.FloatRange(min=0, min_open=True),
            default=1800.0,
            show_default=True,
            metavar="SECONDS",
            help="Time that tlparse may take for one log.",
        ),
        click.option(
            "--torch-version",
            metavar="VERSION",
            help="The PyTorch that the advice is for, as 2.13; needed where the trace does not say.",
        ),
        click.argument(
            "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
        ),
    ):
        command = decorate(command)
    return command


def _analyze(
    paths: tuple[Path, ...], torch_version: str | None, timeout: float, keep: Path | None = None
) -> Analysis:
    from pgo_advisor.analysis import analyze

    with _progress() as progress:
        try:
            return analyze(
                *paths, torch_version=torch_version, timeout=timeout, keep=keep, progress=progress
            )
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--torch-version") from error


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, if that is a terminal, once reading takes more than a second."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from threading import Timer

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("reading logs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("reading", total=None)
    timer = Timer(1.0, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@main.command(epilog=_EPILOG)
@_inputs
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as one HTML file.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write a pull-request comment.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write everything as JSON.")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the tables as Parquet files into a new directory.",
)
@click.option(
    "--keep-tlparse",
    "keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what tlparse wrote in a new directory; its report of a log is log_N/index.html.",
)
@click.option("-f", "--force", is_flag=True, help="Replace output files that exist.")
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
def analyze(
    paths: tuple[Path, ...],
    torch_version: str | None,
    timeout: float,
    html: Path | None,
    markdown: Path | None,
    json_: Path | None,
    parquet: Path | None,
    keep: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Say what to declare dynamic and why, and what else recompiled."""
    from pgo_advisor.files import check_new_directory, check_writable, write_text

    for path in (html, markdown, json_):
        if path is not None:
            check_writable(path, force=force)
    for directory in (parquet, keep):
        if directory is not None:
            check_new_directory(directory)
    analysis = _analyze(paths, torch_version, timeout, keep)
    for path, render in (
        (html, analysis.to_html),
        (markdown, analysis.to_markdown),
        (json_, analysis.to_json),
    ):
        if path is not None:
            write_text(path, render(), force=force)
    if parquet is not None:
        analysis.tables.to_parquet(parquet)
    if not quiet:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        click.echo(analysis.to_text(width=_width(), color=color), nl=False, color=color)


def _width() -> int:
    import shutil

    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


@main.command(epilog=_EPILOG)
@_inputs
@click.option(
    "--format",
    "fmt",
    type=click.Choice(_ENV_FORMATS),
    default="shell",
    show_default=True,
    help="Where it is to be pasted; value: the bare list.",
)
def env(paths: tuple[Path, ...], torch_version: str | None, timeout: float, fmt: str) -> None:
    """Print the environment variable TORCH_COMPILE_DYNAMIC_SOURCES, safe to eval.

    Nothing is printed on standard output if nothing is to be declared.
    """
    analysis = _analyze(paths, torch_version, timeout)
    for text in (*analysis.losses, *analysis.notes):
        _remark(text)
    if not analysis.dynamic_sources:
        _remark("nothing to declare dynamic: no recorded compile would be saved by it")
    click.echo(analysis.env(fmt), nl=False)


@main.command(epilog=_EPILOG)
@_inputs
def snippet(paths: tuple[Path, ...], torch_version: str | None, timeout: float) -> None:
    """Print Python that marks the inputs, with where to put it."""
    analysis = _analyze(paths, torch_version, timeout)
    for text in (*analysis.losses, *analysis.notes):
        _remark(text)
    click.echo(analysis.snippet(), nl=False)


@main.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Explain a rule, or a cause of recompiles; without RULE, list them."""
    from pgo_advisor.render.explain import explain_all, explain_one

    if rule is None:
        click.echo(explain_all(), nl=False)
        return
    text = explain_one(rule)
    if text is None:
        raise click.BadParameter(
            f"{rule!r} is no rule and no cause; pgo-advisor explain lists them", param_hint="RULE"
        )
    click.echo(text, nl=False)


def _remark(text: str) -> None:
    from pgo_advisor.render.text import one_line

    click.echo(f"pgo-advisor: {one_line(text, 2000)}", err=True)
