"""One run of a program for a comparison: its standard input replayed, its output and compiles measured."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pgo_advisor.errors import InterruptedRunError, NoCompileError
from pgo_advisor.files import remove_directory
from pgo_advisor.ingest.job import ingest
from pgo_advisor.patch.mirror import Mirror
from pgo_advisor.replay.frames import rows
from pgo_advisor.run.record import RecordedRun, record


class Function(NamedTuple):
    """A compiled function, the same in several runs."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class RunResult:
    """What one run showed; seconds of wall time."""

    recorded: RecordedRun
    compiles: Counter[Function]
    seconds: dict[Function, float]
    longest: float
    """Compile seconds of the process that compiled longest."""
    output: str
    """A digest of what it wrote on standard output."""
    compared: tuple[int, bytes] | None
    """Exit code and output of the command that compares."""

    @property
    def total(self) -> int:
        return sum(self.compiles.values())


class Runner:
    """Runs one program again and again in the same way. A context: its files go at its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        compare: str | None = None,
        timeout: float | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.command = command
        self.runs = 0
        self._compare = compare
        self._timeout = timeout
        self._say = say

    def __enter__(self) -> Runner:
        self.scratch = Path(tempfile.mkdtemp(prefix="pgo-advisor-verify-"))
        self._stdin = _Stdin(self.scratch / "stdin")
        return self

    def __exit__(self, *error: object) -> None:
        remove_directory(self.scratch)

    def run(
        self, variables: Mapping[str, str], label: str, mirror: Mirror | None = None
    ) -> RunResult:
        """Runs the program once, in the current directory or in what `mirror` has in its place.

        What it writes on standard output goes to standard error.
        """
        directory = mirror.path(os.getcwd()) if mirror else None
        self.runs += 1
        trace = self.scratch / f"run_{self.runs}"
        trace.mkdir()
        if self._say is not None:
            self._say(f"run {self.runs}: {label}")
        with self._stdin.open() as stdin, _Output() as output:
            recorded = record(
                mirror.command(self.command) if mirror else self.command,
                trace,
                variables=variables,
                directory=directory,
                files={0: stdin, 1: output.file},
                timeout=self._timeout,
                say=self._say,
            )
        compiles: Counter[Function] = Counter()
        seconds: dict[Function, float] = {}
        by_process: dict[int, float] = defaultdict(float)
        for row in _compiles(recorded.logs):
            function = Function(row["name"] or "?", row["file"] or "?", row["line"] or 0)
            compiles[function] += 1
            seconds[function] = seconds.get(function, 0.0) + (row["seconds"] or 0.0)
            by_process[row["log"]] += row["seconds"] or 0.0
        result = RunResult(
            recorded,
            compiles,
            seconds,
            max(by_process.values(), default=0.0),
            output.digest,
            self._compared(directory),
        )
        ended = recorded.ended
        if ended.signalled or ended.exit_code == 128 + signal.SIGINT:
            raise InterruptedRunError(
                "the program was interrupted: nothing can be compared", ended.exit_code
            )
        return result

    def _compared(self, directory: str | None) -> tuple[int, bytes] | None:
        if self._compare is None:
            return None
        # the user's own command line, for their shell
        done = subprocess.run(  # noqa: S602
            self._compare,
            shell=True,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        return done.returncode, done.stdout


def _compiles(logs: Sequence[Path]) -> Iterator[Any]:
    if logs:
        with suppress(NoCompileError):
            yield from rows(ingest(logs).tables.compiles)


class _Stdin:
    """Standard input for each run: a file is read again, a pipe is copied in the first run."""

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        try:
            mode = os.fstat(0).st_mode
        except OSError:
            mode = 0
        self._closed = mode == 0
        self._pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        self._start = os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(mode) else None

    @contextmanager
    def open(self) -> Iterator[int]:
        if self._closed or (self._pipe and self._copy.exists()):
            with open(os.devnull if self._closed else self._copy, "rb") as file:
                yield file.fileno()
        elif not self._pipe:
            if self._start is not None:
                os.lseek(0, self._start, os.SEEK_SET)
            yield 0
        else:
            reader, writer = os.pipe()
            halted, halt = os.pipe()
            pump = threading.Thread(target=self._pump, args=(writer, halted), daemon=True)
            pump.start()
            try:
                yield reader
            finally:
                os.close(reader)
                os.close(halt)
                pump.join()
                os.close(halted)

    def _pump(self, writer: int, halted: int) -> None:
        with self._copy.open("wb") as copy, suppress(BrokenPipeError):
            try:
                while True:
                    ready, _, _ = select.select([0, halted], [], [])
                    if halted in ready or not (data := os.read(0, 1 << 16)):
                        break
                    copy.write(data)
                    while data:
                        _, room, _ = select.select([halted], [writer], [])
                        if not room:
                            return
                        data = data[os.write(writer, data[:4096]) :]
            finally:
                os.close(writer)


class _Output:
    """Standard output of a run: copied to standard error, with a digest of it."""

    def __enter__(self) -> _Output:
        self._reader, self.file = os.pipe()
        self._hash = hashlib.sha256()
        self._pump = threading.Thread(target=self._copy, daemon=True)
        self._pump.start()
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.file)
        # something that the program left running may hold the other end for ever
        self._pump.join(timeout=2.0)
        self.digest = self._hash.hexdigest()

    def _copy(self) -> None:
        with os.fdopen(self._reader, "rb", buffering=0) as source:
            while data := source.read(1 << 16):
                self._hash.update(data)
                with suppress(OSError):
                    sys.stderr.buffer.write(data)
                    sys.stderr.buffer.flush()
