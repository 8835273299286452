"""`pgo-advisor record`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from pgo_advisor.commands.common import (
    POSITIVE,
    Reports,
    end_on_signals,
    outputs,
    program,
    remark,
    tlparse_timeout,
)
from pgo_advisor.files import check_new_directory, remove_directory

_EPILOG = (
    "Exit codes: the program's own (128 and the signal's number if a signal ended it), 0 if --until stopped "
    "it, 124 if --timeout did, 126 or 127 if it cannot be run. If pgo-advisor fails: 2 wrong usage, or an "
    "output that exists or cannot be written; 3 the trace cannot be analysed; 4 tlparse is missing, too "
    "old, or fails."
)


def _until(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int | None, float | None]:
    """The compiles or the seconds after which to stop."""
    if value is None:
        return None, None
    try:
        compiles, seconds = (None, float(value[:-1])) if value.endswith("s") else (int(value), None)
    except ValueError:
        compiles = seconds = None
    if (compiles or seconds or 0) > 0:
        return compiles, seconds
    raise click.BadParameter(f"{value!r} is neither compiles, as 20, nor seconds, as 300s")


@click.command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the trace in a new directory.",
)
@outputs
@tlparse_timeout
@click.option(
    "--timeout",
    "stop_after",
    type=POSITIVE,
    metavar="SECONDS",
    help="Stop the program after this time.",
)
@click.option(
    "--until",
    callback=_until,
    metavar="N|SECONDSs",
    help="Stop it after N compiles, or (300s) after seconds: recompiles mostly come early.",
)
@program
def record(
    command: tuple[str, ...],
    output: Path | None,
    html: Path | None,
    markdown: Path | None,
    json_: Path | None,
    force: bool,
    quiet: bool,
    timeout: float,
    stop_after: float | None,
    until: tuple[int | None, float | None],
) -> None:
    """Run a program, record what torch.compile does in it, and say what to declare dynamic.

    COMMAND is any program that uses torch.compile, as `python train.py`, `torchrun train.py`, `pytest tests`
    or a script. Its input, output, signals and exit code are its own: the report goes to standard error.
    """
    from pgo_advisor.errors import NoCompileError
    from pgo_advisor.run.record import record as run
    from pgo_advisor.run.record import say_on_terminal, why_nothing

    end_on_signals()
    reports = Reports(html, markdown, json_, force=force, quiet=quiet)
    with _trace_directory(output) as trace:
        recorded = run(
            command,
            trace,
            timeout=stop_after,
            until_compiles=until[0],
            until_seconds=until[1],
            say=None if quiet else say_on_terminal(),
        )
        ended = recorded.ended
        for text in recorded.notes:
            remark(text)
        if ended.stopped:
            remark(f"the program did not end: {ended.stopped}")
        analysis = None
        if recorded.logs:
            from pgo_advisor.analysis import analyze

            with suppress(NoCompileError):
                analysis = analyze(*recorded.logs, timeout=timeout)
        if analysis is None:
            remark(f"no compile was recorded. {why_nothing(command)}")
        else:
            reports.write(analysis, err=True)
    sys.exit(recorded.exit_code)


@contextmanager
def _trace_directory(wanted: Path | None) -> Iterator[Path]:
    """Where the trace goes; what cannot be analysed is kept, since the run may have been long."""
    if wanted is not None:
        check_new_directory(wanted)
        try:
            wanted.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(f"{wanted}: {error.strerror}", param_hint="-o") from error
        yield wanted.resolve()
        return
    trace = Path(tempfile.mkdtemp(prefix="pgo-advisor-trace-"))
    try:
        yield trace
    except Exception:
        if any(os.scandir(trace)):
            remark(f"the trace is kept in {trace}")
        else:
            trace.rmdir()
        raise
    except BaseException:
        remove_directory(trace)
        raise
    remove_directory(trace)
