"""Looking at the logs that a running program writes; whatever they are, the program runs on."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType

_COMPILED = b'] {"compilation_metrics"'
_MAX_READ = 1 << 26
"""Bytes of a log that are read at one look: signals for the program wait for it."""
_MAX_ENTRIES = 100_000
"""Of a trace directory: signals for the program wait for looking at them, too."""
_LINE_EVERY = 5.0


class TraceLogs:
    """The logs that appear in a directory after this is made: regular files, not empty."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.crowded = False
        """Whether there were more entries than are looked at."""
        self._old: set[Path] = set()
        with suppress(Exception):  # no reason not to run the program
            self._old = {path for path, _ in self._all()}

    def new(self) -> list[Path]:
        return sorted(
            path for path, status in self._all() if path not in self._old and status.st_size
        )

    def _all(self) -> Iterator[tuple[Path, os.stat_result]]:
        """A directory that is gone has none, and what is gone since it was listed is none."""
        try:
            with os.scandir(self._directory) as scan:
                names = [entry.name for entry in islice(scan, _MAX_ENTRIES)]
                self.crowded = next(scan, None) is not None
        except OSError:
            return
        for name in names:
            if not name.endswith(".log"):
                continue
            path = self._directory / name
            try:
                status = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, status


class Watch:
    """Counts the compiles in the logs so far, tells of them every five seconds, and says when to stop."""

    def __init__(
        self, logs: TraceLogs, *, until_compiles: int | None, say: Callable[[str], None] | None
    ) -> None:
        self._logs = logs
        self._until = until_compiles
        self._say = say
        self._read: dict[Path, int] = {}
        self._compiles = 0
        self._told = (0, 0.0)
        self.failed: str | None = None
        """Why nothing is watched any more, or what was not looked at, in a sentence."""

    def logs(self) -> tuple[Path, ...]:
        """The logs that are there now; never raises."""
        try:
            found = tuple(self._logs.new())
            if self._logs.crowded:
                self.failed = (
                    f"Only {_MAX_ENTRIES:,} entries of the trace directory were looked at."
                )
            return found
        except Exception as error:
            self.failed = f"The trace's logs cannot be listed: {error!r}."
            return ()

    def look(self, seconds: float) -> str | None:
        """Why the program is to be stopped now; never raises."""
        if self.failed or (self._say is None and self._until is None):
            return None
        try:
            self._count()
            self._tell(seconds)
        except Exception as error:
            self.failed = f"Compiles are no longer counted: {error!r}."
            return None
        if self._until is not None and self._compiles >= self._until:
            return f"it was stopped after {self._compiles} compiles, as --until says"
        return None

    def _count(self) -> None:
        for path in self._logs.new():
            try:
                self._count_in(path)
            except OSError:
                continue  # what cannot be read now may be at the next look

    def _count_in(self, path: Path) -> None:
        # what was half there at the last look is read again
        start = max(0, self._read.get(path, 0) - len(_COMPILED) + 1)
        with open(path, "rb", opener=_without_blocking) as log:
            log.seek(start)
            chunk = log.read(_MAX_READ)
        self._compiles += chunk.count(_COMPILED)
        self._read[path] = start + len(chunk)

    def _tell(self, seconds: float) -> None:
        compiles, when = self._told
        if self._say is not None and self._compiles != compiles and seconds >= when + _LINE_EVERY:
            self._told = (self._compiles, seconds)
            self._say(
                f"{self._compiles} compile{'s'[: self._compiles != 1]} so far, {seconds:.0f} s"
            )


def _without_blocking(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def say_on_terminal() -> Callable[[str], None] | None:
    """Writes whole lines on standard error, if that is a terminal: the program writes there as well."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def say(text: str) -> None:
        # over a progress bar of the program, which draws itself again
        console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))
        console.print(f"pgo-advisor: {text}", end="\r\n")

    return say
