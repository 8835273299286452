"""Runs a program so that PyTorch leaves everything behind, and says what that was."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pgo_advisor.files import remove_directory
from pgo_advisor.run.observe import observing
from pgo_advisor.run.supervise import Ended, run_program
from pgo_advisor.run.watch import TraceLogs, Watch

_TRACE_DIRECTORIES = ("TORCH_DTRACE", "TORCH_TRACE")
"""The first that is set decides (torch/_logging/_internal.py, `_init_logs`)."""
_JOB_IDS = ("TORCH_COMPILE_JOB_ID", "TORCH_COMPILE_STICKY_PGO_KEY")
_SWITCHED_OFF = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")


@dataclass(frozen=True)
class RecordedRun:
    """One run of a program."""

    logs: tuple[Path, ...]
    """The trace logs that it wrote, one for each process that compiled; in the recording's directory."""
    ended: Ended
    notes: tuple[str, ...]
    """Which of the user's settings were kept and what follows from that, in sentences."""
    timed_out: bool

    @property
    def exit_code(self) -> int:
        """The program's own; where it was stopped, 0, or 124 for `timeout`, as timeout(1) has it."""
        if self.timed_out:
            return 124
        return 0 if self.ended.stopped else self.ended.exit_code


@contextmanager
def environment(
    trace: Path, given: Mapping[str, str] = os.environ
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """The environment that makes PyTorch leave everything behind, and notes on what the user had set.

    Trace logs go to `trace`, PGO profiles are written, and caches are new, so that compile times are real
    and no earlier profile hides recompiles. What `given` sets stays as it is. The caches exist within the
    context.
    """
    variables = dict(given)
    notes = []
    kept = next((name for name in _TRACE_DIRECTORIES if given.get(name)), None)
    if kept is None:
        variables["TORCH_TRACE"] = str(trace)
    else:
        notes.append(f"{kept} is set: the trace goes to {given[kept]}.")
    job = next((name for name in _JOB_IDS if given.get(name)), None)
    if job is None:
        variables["TORCH_COMPILE_JOB_ID"] = "pgo-advisor"
    caches = tempfile.mkdtemp(prefix="pgo-advisor-caches-")
    try:
        if not given.get("TORCHINDUCTOR_CACHE_DIR"):
            variables["TORCHINDUCTOR_CACHE_DIR"] = caches
        else:
            notes.append(
                "TORCHINDUCTOR_CACHE_DIR is set: compiles that its cache holds take less time than they would"
                + (
                    f", and with {job} set, too, a profile of an earlier run may hide recompiles."
                    if job
                    else "."
                )
            )
        if not given.get("TRITON_CACHE_DIR"):
            variables["TRITON_CACHE_DIR"] = f"{variables['TORCHINDUCTOR_CACHE_DIR']}/triton"
        for name in (
            "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
            "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO",
        ):
            if given.get(name, "0") not in ("", "0"):
                notes.append(f"{name} is set: a remote cache may hide compiles.")
        yield variables, notes
    finally:
        with suppress(Exception):  # the program has run: its exit code stays
            remove_directory(Path(caches))


def record(
    command: Sequence[str],
    trace: Path,
    *,
    variables: Mapping[str, str] | None = None,
    directory: str | None = None,
    files: Mapping[int, int] | None = None,
    timeout: float | None = None,
    until_compiles: int | None = None,
    until_seconds: float | None = None,
    calls: bool = False,
    say: Callable[[str], None] | None = None,
) -> RecordedRun:
    """Runs `command` with its trace in the directory `trace`, in the own environment and `variables`.

    It runs in `directory`, or in the current one. `timeout` and the two `until` stop the program; what it
    recorded by then is there. `calls` has the calls of each graph counted. `say` is told every five seconds
    how many compiles there are so far, if that has changed. Raises ProgramError if the program cannot be
    started.
    """
    with ExitStack() as stack:
        setting, notes = stack.enter_context(
            environment(trace, {**os.environ, **(variables or {})})
        )
        if calls:
            stack.enter_context(observing(setting))
        traced = next(setting[name] for name in _TRACE_DIRECTORIES if setting.get(name))
        logs = TraceLogs(Path(directory or "", traced))
        watch = Watch(logs, until_compiles=until_compiles, say=say)
        by_timeout = f"it was stopped after {timeout:g} s, by --timeout" if timeout else None

        def limit(seconds: float) -> str | None:
            if until_seconds is not None and seconds >= until_seconds:
                return f"it was stopped after {until_seconds:g} s, as --until says"
            if timeout is not None and seconds >= timeout:
                return by_timeout
            return watch.look(seconds)

        ended = run_program(command, setting, directory=directory, files=files, limit=limit)
        timed_out = ended.stopped is not None and ended.stopped == by_timeout
        found = watch.logs()
        notes += filter(None, [watch.failed])
        return RecordedRun(found, ended, tuple(notes), timed_out)


def why_nothing(command: Sequence[str], given: Mapping[str, str] = os.environ) -> str:
    """Why a run can have recorded no compile, as far as that can be told from outside."""
    for name in _SWITCHED_OFF:
        if given.get(name, "0") not in ("", "0"):
            return f"{name} is set, which switches torch.compile off."
    if _lacks_torch(command[0]):
        return f"{command[0]} has no torch installed."
    return (
        "Either no compiled function was called; or compiling is switched off in the program "
        '(torch.compiler.set_stance("force_eager"), disable=True); or it ran in a process that did not get '
        "the environment (sudo, ssh, a container, a launcher that starts with an empty one); or its PyTorch "
        "is older than 2.5."
    )


def _lacks_torch(program: str) -> bool:
    path = shutil.which(program)
    if path is None or not Path(path).name.startswith("python"):
        return False
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    try:
        done = subprocess.run(  # noqa: S603
            [path, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 1
