"""What the commands share: the inputs that they take, and how they speak on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pgo_advisor.limits import GIB, Limits

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis

Command = TypeVar("Command", bound=Callable[..., Any])

EPILOG = (
    "Exit codes: 0 done, also if there is nothing to advise; 2 wrong usage, or an output that exists or "
    "cannot be written; 3 an input that does not exist or cannot be analysed; 4 tlparse is missing, too "
    "old, or fails."
)


_KEY = "pgo_advisor.{}"


def _remember(context: click.Context, option: click.Parameter, value: object) -> None:
    """Keeps for `run_analysis` what no command has to know of."""
    context.meta[_KEY.format(option.name)] = value


def inputs(command: Command) -> Command:
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
            "--unpack-limit",
            type=click.FloatRange(min=0, min_open=True),
            default=Limits().bytes / GIB,
            show_default=True,
            metavar="GIB",
            help="Most that archives may unpack to; a larger one allows more members and a higher ratio.",
            expose_value=False,
            callback=_remember,
        ),
        click.option(
            "--job",
            metavar="NAME",
            help="Of several jobs, the one in the directory of this name; else all are analysed as one.",
            expose_value=False,
            callback=_remember,
        ),
        click.option(
            "--torch-version",
            metavar="VERSION",
            help="The PyTorch that the advice is for, as 2.13; needed where the trace does not say.",
        ),
        click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.UNPROCESSED),
    ):
        command = decorate(command)
    return command


def run_analysis(
    paths: tuple[str, ...], torch_version: str | None, timeout: float, keep: Path | None = None
) -> Analysis:
    """The analysis that the options of `inputs` ask for, with a progress bar if it takes long."""
    from pgo_advisor.analysis import analyze

    told = click.get_current_context().meta
    with _progress() as progress:
        try:
            return analyze(
                *paths,
                torch_version=torch_version,
                job=told[_KEY.format("job")],
                timeout=timeout,
                limits=Limits.of_gib(told[_KEY.format("unpack_limit")]),
                keep=keep,
                progress=progress,
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


def remark_on(analysis: Analysis) -> None:
    """Says on standard error what was lost and what has to be known."""
    for text in (*analysis.losses, *analysis.notes):
        remark(text)


def remark(text: str) -> None:
    """Says one sentence on standard error; recorded text in it is made harmless."""
    from pgo_advisor.render.text import one_line

    click.echo(f"pgo-advisor: {one_line(text, 2000)}", err=True)
