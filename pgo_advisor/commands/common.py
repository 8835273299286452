"""What the commands share: the inputs that they take, and how they speak on standard error."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import cloup

from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.ingest.limits import GIB, TLPARSE_TIMEOUT, Limits

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis
    from pgo_advisor.patch import PathMap

Command = TypeVar("Command", bound=Callable[..., Any])

EPILOG = (
    "Exit codes: 0 done, also if there is nothing to advise; 2 wrong usage, or an output that exists or "
    "cannot be written; 3 an input that does not exist or cannot be analysed; 4 tlparse is missing, too "
    "old, or fails; 130 interrupted."
)

_KEY = "pgo_advisor.{}"


class _Positive(click.FloatRange):
    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


POSITIVE = _Positive(min=0, min_open=True, max=1_000_000)
"""A number above 0; a larger one than that is no limit, and more seconds than `poll(2)` can wait."""


TLPARSE_OPTION = cloup.option(
    "--tlparse-timeout",
    "timeout",
    type=POSITIVE,
    default=TLPARSE_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time that each run of tlparse may take.",
)
"""Bounds how long tlparse may take for a log."""


def program(command: Command) -> Command:
    """The argument that is a program to run, with arguments of its own."""
    return click.argument(
        "command", nargs=-1, required=True, metavar="[--] COMMAND...", type=click.UNPROCESSED
    )(command)


def end_on_signals() -> None:
    """Lets temporary files be removed when pgo-advisor is asked to end."""

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def _remember(context: click.Context, option: click.Parameter, value: object) -> None:
    """Keeps for `run_analysis` what no command has to know of."""
    context.meta[_KEY.format(option.name)] = value


def inputs(command: Command) -> Command:
    """The arguments and options that say what is analysed."""
    return input_options(paths_argument(required=True)(command))


def paths_argument(*, required: bool) -> Callable[[Command], Command]:
    """The paths of what is analysed."""
    metavar = "PATH..." if required else "[PATH...]"
    return click.argument(
        "paths", nargs=-1, required=required, metavar=metavar, type=click.UNPROCESSED
    )


def input_options(command: Command) -> Command:
    """The options that say how it is read."""
    remembered = partial(cloup.option, expose_value=False, callback=_remember)
    return cloup.option_group(
        "Inputs",
        cloup.option(
            "--torch-version",
            metavar="VERSION",
            help="The PyTorch that the advice is for, as 2.13; needed where the trace does not say.",
        ),
        remembered(
            "--job",
            metavar="NAME",
            help="Of several jobs, the one in the directory of this name; else all are analysed as one.",
        ),
        remembered(
            "--cluster",
            metavar="ADDRESS|local",
            help="Have the logs read by a Dask cluster, as tcp://scheduler:8786, whose workers see the same "
            "paths.",
        ),
        remembered(
            "--unpack-limit",
            type=POSITIVE,
            default=Limits().bytes / GIB,
            show_default=True,
            metavar="GIB",
            help="Most that archives may unpack to; a larger one allows more members and a higher ratio.",
        ),
        TLPARSE_OPTION,
    )(command)


def _path_maps(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[PathMap, ...]:
    if not values:
        return ()
    from pgo_advisor.patch import PathMap

    parts = [value.rpartition("=") for value in values]
    for value, (old, _, new) in zip(values, parts, strict=True):
        if not (old and new):
            raise click.BadParameter(f"{value!r} is not OLD=NEW")
    return tuple(PathMap(old, Path(new)) for old, _, new in parts)


MAP_OPTION = cloup.option(
    "--map",
    "maps",
    callback=_path_maps,
    multiple=True,
    metavar="OLD=NEW",
    help="Where the files of a directory of the traced machine are now.",
)
"""Says where the traced source files are now."""

ROOT_OPTION = cloup.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Mark only files in here; default: the git repository of the current directory, or that.",
)
"""Says which files may get marks."""


def run_analysis(
    paths: tuple[str, ...], torch_version: str | None, timeout: float, full: Path | None = None
) -> Analysis:
    """The analysis that the options of `inputs` ask for, with a progress bar if it takes long."""
    from pgo_advisor.analysis import analyze

    end_on_signals()
    told = click.get_current_context().meta
    if torch_version is not None:
        try:
            TorchRelease.parse(torch_version)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--torch-version") from error
    with _progress() as progress:
        return analyze(
            *paths,
            torch_version=torch_version,
            job=told[_KEY.format("job")],
            timeout=timeout,
            limits=Limits.of_gib(told[_KEY.format("unpack_limit")]),
            full=full,
            cluster=told[_KEY.format("cluster")],
            progress=progress,
        )


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
    """Says one sentence on standard error; recorded text in it is made harmless.

    Where standard error cannot be written, nobody is told, and the exit code stays.
    """
    from pgo_advisor.render.text import one_line

    try:
        click.echo(f"pgo-advisor: {one_line(text, 2000)}", err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
