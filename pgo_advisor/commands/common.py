"""What the commands share: the inputs that they take, and how they speak on standard error."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.errors import OutputError
from pgo_advisor.ingest.limits import GIB, TLPARSE_TIMEOUT, Limits

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis
    from pgo_advisor.patch import Patch, PathMap

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


def tlparse_timeout(command: Command) -> Command:
    """The option that bounds how long tlparse may take for a log."""
    return click.option(
        "--tlparse-timeout",
        "timeout",
        type=POSITIVE,
        default=TLPARSE_TIMEOUT,
        show_default=True,
        metavar="SECONDS",
        help="Time that each run of tlparse may take.",
    )(command)


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


def outputs(command: Command) -> Command:
    """The options that say which reports are written."""
    path = click.Path(path_type=Path, allow_dash=True)
    for decorate in (
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            help="Print the whole report, not only its 20 lines.",
            expose_value=False,
            callback=_remember,
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print no report."),
        click.option("-f", "--force", is_flag=True, help="Replace output files that exist."),
        click.option("--json", "json_", type=path, help="Write everything as JSON."),
        click.option("--markdown", type=path, help="Write a pull-request comment."),
        click.option("--html", type=path, help="Write the report as one HTML file."),
    ):
        command = decorate(command)
    return command


class Reports:
    """Writes what the options of `outputs` ask for; made before the work, so that it fails early.

    `inputs` are files that no output may replace. An output `-` is standard output, instead of the report.
    """

    def __init__(
        self,
        html: Path | None,
        markdown: Path | None,
        json: Path | None,
        *,
        force: bool,
        quiet: bool,
        inputs: Iterable[str] = (),
    ) -> None:
        from pgo_advisor.files import check_writable

        self._paths = (html, markdown, json)
        self._force = force
        self._quiet = quiet or Path("-") in self._paths
        files = [path for path in self._paths if path is not None and path != Path("-")]
        for path in files:
            check_writable(path, force=force)
            for given in inputs:
                if os.path.exists(path) and os.path.exists(given) and path.samefile(given):
                    raise OutputError(f"{path} is an input; name another file")
        if len({os.path.realpath(path) for path in files}) < len(files) or (
            self._paths.count(Path("-")) > 1
        ):
            raise OutputError("two outputs have the same name; name two files")

    def write(
        self,
        analysis: Analysis,
        *,
        patch: Patch | None = None,
        repo_url: str | None = None,
        err: bool = False,
    ) -> None:
        """Writes the files, and prints the report, on standard error with `err`."""
        from pgo_advisor.files import write_text

        renderings: tuple[Callable[[], str], ...] = (
            partial(
                analysis.to_html,
                patch=patch,
                repo_url=repo_url,
                directory=self._paths[0] and self._paths[0].parent,
            ),
            partial(analysis.to_markdown, patch=patch, repo_url=repo_url),
            analysis.to_json,
        )
        for path, render in zip(self._paths, renderings, strict=True):
            if path == Path("-"):
                click.echo(render(), nl=False)
            elif path is not None:
                write_text(path, render(), force=self._force)
        if not self._quiet:
            stream = sys.stderr if err else sys.stdout
            plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
            color = stream.isatty() and not plain
            verbose = click.get_current_context().meta[_KEY.format("verbose")]
            text = analysis.to_text(width=_width(), color=color, verbose=verbose)
            click.echo(text, nl=False, color=color, err=err)


def _width() -> int:
    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))


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
    for decorate in (
        tlparse_timeout,
        click.option(
            "--unpack-limit",
            type=POSITIVE,
            default=Limits().bytes / GIB,
            show_default=True,
            metavar="GIB",
            help="Most that archives may unpack to; a larger one allows more members and a higher ratio.",
            expose_value=False,
            callback=_remember,
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS|local",
            help="Have the logs read by a Dask cluster, as tcp://scheduler:8786, whose workers see the same "
            "paths.",
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
    ):
        command = decorate(command)
    return command


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


def source_maps(command: Command) -> Command:
    """The option that says where the traced source files are now."""
    return click.option(
        "--map",
        "maps",
        callback=_path_maps,
        multiple=True,
        metavar="OLD=NEW",
        help="Where the files of a directory of the traced machine are now.",
    )(command)


def root_option(command: Command) -> Command:
    """The option that says which files may get marks."""
    return click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Mark only files in here; default: the git repository of the current directory, or that.",
    )(command)


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
