"""`pgo-advisor record`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from pgo_advisor.commands.common import (
    POSITIVE,
    TLPARSE_OPTION,
    end_on_signals,
    program,
    remark,
)
from pgo_advisor.commands.outputs import Reports, outputs
from pgo_advisor.errors import PgoAdvisorError
from pgo_advisor.files import check_new_directory, remove_directory

if TYPE_CHECKING:
    from pgo_advisor.run.record import RecordedRun

_RUN = cloup.OptionGroup("The run")
_EPILOG = (
    "Exit codes: the program's own (128 and the signal's number if a signal ended it), whatever becomes of "
    "the analysis; 0 if --until stopped it, 124 if --timeout did, 126 or 127 if it cannot be run; 2 wrong "
    "usage, or an output that exists, before it is run."
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


@cloup.command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@outputs
@cloup.option_group(
    "The run",
    cloup.option(
        "--timeout",
        "stop_after",
        type=POSITIVE,
        metavar="SECONDS",
        help="Stop the program after this time.",
    ),
    cloup.option(
        "--until",
        callback=_until,
        metavar="N|SECONDSs",
        help="Stop it after N compiles, or (300s) after seconds: recompiles mostly come early.",
    ),
    cloup.option(
        "--calls",
        is_flag=True,
        help="Count the calls of each graph, too, and those that run uncompiled.",
    ),
    TLPARSE_OPTION,
)
@program
def record(
    command: tuple[str, ...],
    timeout: float,
    stop_after: float | None,
    until: tuple[int | None, float | None],
    calls: bool,
) -> None:
    """Run a program, record its compiles, and say what to declare.

    COMMAND is any program that uses torch.compile, as `python train.py`, `torchrun train.py`, `pytest tests`
    or a script. Its input, output, signals and exit code are its own: the report goes to standard error.
    With -o DIR, a name without such an ending, the trace is kept in a new directory.
    """
    from pgo_advisor.run.record import record as run
    from pgo_advisor.run.watch import say_on_terminal

    end_on_signals()
    reports = Reports(keep=True)
    trace = _trace_directory(reports.trace)
    keep = reports.trace is not None
    try:
        recorded = run(
            command,
            trace,
            timeout=stop_after,
            until_compiles=until[0],
            until_seconds=until[1],
            calls=calls,
            say=None if reports.quiet else say_on_terminal(),
        )
        reported = _succeeds(lambda: _report(recorded, command, reports, timeout))
        if not reported and not keep:
            with suppress(OSError):
                trace.rmdir()
            # one with logs is kept: the run may have been long
            keep = os.path.isdir(trace)
            if keep:
                _succeeds(lambda: remark(f"the trace is kept in {trace}"))
    finally:
        if not keep:
            _succeeds(lambda: remove_directory(trace))
    sys.exit(recorded.exit_code)


def _report(
    recorded: RecordedRun, command: tuple[str, ...], reports: Reports, timeout: float
) -> None:
    from pgo_advisor.errors import NoCompileError
    from pgo_advisor.run.record import why_nothing

    for text in recorded.notes:
        remark(text)
    if recorded.ended.stopped:
        remark(f"the program did not end: {recorded.ended.stopped}")
    if recorded.logs:
        from pgo_advisor.analysis import analyze

        with suppress(NoCompileError):
            reports.write(analyze(*recorded.logs, timeout=timeout), err=True)
            return
    remark(f"no compile was recorded. {why_nothing(command)}")


def _succeeds(work: Callable[[], None]) -> bool:
    """Whether it does. The program has run: what fails now is said, and its exit code stays."""
    try:
        work()
        return True
    except Exception as error:
        with suppress(Exception):
            remark(str(error) if isinstance(error, PgoAdvisorError) else f"this failed: {error!r}")
        return False
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            try:
                stream.flush()
            except (OSError, ValueError):
                # what is left in it would fail again when Python ends, which would then exit with 120
                with suppress(OSError, ValueError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _trace_directory(wanted: Path | None) -> Path:
    """A new directory for the trace, or a temporary one."""
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="pgo-advisor-trace-"))
    check_new_directory(wanted)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"{wanted}: {error.strerror}", param_hint="-o") from error
    return wanted.resolve()
