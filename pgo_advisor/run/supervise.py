"""Runs a program as if pgo-advisor were not there: its files, its signals, its terminal, its exit code.

The program leads a process group of its own, as a shell's job does, and has the terminal if pgo-advisor
had it. So Ctrl-C and Ctrl-Z reach the program and what it started, each once, and nobody else; a signal
that is sent to pgo-advisor is passed on.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import psutil

from pgo_advisor.errors import ProgramError

GRACE = 10.0
"""Seconds that a program may take to end itself after it was asked to."""
_TICK = 0.5
_TO_GROUP = ("SIGINT", "SIGQUIT", "SIGHUP")
"""A terminal sends these to the whole group, so programs expect them so."""
_ENDING = (*_TO_GROUP, "SIGTERM")
_FORWARDED = (*_ENDING, "SIGUSR1", "SIGUSR2")


@dataclass(frozen=True)
class Ended:
    """How a program ended: `status` is its exit code, or minus the signal that killed it."""

    status: int
    seconds: float
    stopped: str | None
    """Why pgo-advisor stopped it; None if it ended by itself."""
    signalled: bool
    """Whether a signal came from outside: what it left may be less than a whole run."""

    @property
    def exit_code(self) -> int:
        """As a shell gives it: 128 and the signal's number for a program that a signal killed."""
        return 128 - self.status if self.status < 0 else self.status


def run_program(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    directory: str | None = None,
    files: Mapping[int, int] | None = None,
    limit: Callable[[float], str | None] = lambda seconds: None,
) -> Ended:
    """Runs `command` to its end, in `directory` or the current one; to be called from the main thread.

    `files` gives the program other files in the place of its 0, 1, 2: its number to ours. `limit` is called
    twice a second with the seconds since the start; a reason that it returns stops the program. Raises
    ProgramError if the program cannot be started.
    """
    if not hasattr(os, "posix_spawnp"):
        raise ProgramError("programs can be recorded on Linux and macOS only", 126)
    with _signals() as (pending, wake), _terminal() as terminal:
        start = time.monotonic()
        with _within(directory or os.curdir):
            pid = _spawn(command, environment, files or {})
        group = _Group(pid, terminal)
        terminal.give(pid)
        stopped = None
        signalled = False
        try:
            while (status := group.reap()) is None:
                seconds = time.monotonic() - start
                stopped = stopped or limit(seconds)
                if stopped:
                    group.stop()
                select.select([wake], [], [], _TICK)
                with suppress(BlockingIOError):
                    os.read(wake, 4096)
                while pending:
                    signalled = True
                    group.send(pending.pop(0))
        except BaseException:
            group.kill()
            raise
        seconds = time.monotonic() - start
        if stopped or signalled or status < 0:
            group.sweep()
        return Ended(status, seconds, stopped, signalled)


@contextmanager
def _within(directory: str) -> Iterator[None]:
    """Makes it the current directory: posix_spawn takes none."""
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def _spawn(command: Sequence[str], environment: Mapping[str, str], files: Mapping[int, int]) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, ours, its) for its, ours in files.items()]
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            dict(environment),
            file_actions=actions,
            setpgroup=0,
            # what this process ignores would stay ignored in the program
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU],
        )
    except (OSError, ValueError) as error:
        missing = shutil.which(command[0]) is None and not os.path.exists(command[0])
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ProgramError(
            f"{command[0]} cannot be run: {reason}", 127 if missing else 126
        ) from error


class _Group:
    """The program and what it started."""

    def __init__(self, pid: int, terminal: _Terminal) -> None:
        self.pid = pid
        self.terminal = terminal
        self.asked: float | None = None
        self.others: set[psutil.Process] = set()

    def reap(self) -> int | None:
        """The program's status once it has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if os.WIFSTOPPED(status):
            self.terminal.suspend(self.pid)
            return None
        return os.waitstatus_to_exitcode(status)

    def send(self, number: int) -> None:
        if signal.Signals(number).name in _ENDING:
            # once the program has ended, nothing tells what had a session of its own
            self.others |= self._descendants()
        with suppress(ProcessLookupError, PermissionError):
            if signal.Signals(number).name in _TO_GROUP:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)

    def stop(self) -> None:
        """Asks the program to end; kills it and all that it started if it does not."""
        if self.asked is None:
            self.asked = time.monotonic()
            self.send(signal.SIGTERM)
            self.send(signal.SIGCONT)
        elif time.monotonic() - self.asked > GRACE:
            self.kill()

    def sweep(self) -> None:
        """Ends what an interrupted program left running."""
        deadline = time.monotonic() + 2.0
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
            while time.monotonic() < deadline:
                time.sleep(0.02)
                os.killpg(self.pid, 0)
        self.kill()

    def kill(self) -> None:
        for process in self.others | self._descendants():
            with suppress(Exception):
                process.kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _descendants(self) -> set[psutil.Process]:
        """All processes below the program, those with sessions of their own, too; never raises."""
        try:
            return set(psutil.Process(self.pid).children(recursive=True))
        except Exception:
            return set()


@contextmanager
def _signals() -> Iterator[tuple[list[int], int]]:
    """The signals that came, in order, and a file that is readable when one does or a child ends."""
    pending: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        pending.append(number)

    wake, alarm = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(alarm, False)
    before: dict[int, Any] = {}
    old_alarm = signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    try:
        for name in _FORWARDED:
            number = signal.Signals[name]
            # what is ignored, as under nohup, is ignored by the program as well
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, note)
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        yield pending, wake
    finally:
        for caught, handler in before.items():
            signal.signal(caught, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(old_alarm)
        os.close(wake)
        os.close(alarm)


class _Terminal:
    """The controlling terminal, if pgo-advisor is in its foreground when the program starts."""

    def __init__(self, file: int | None) -> None:
        self.file = file
        self.own = os.getpgrp()

    def foreground(self) -> int | None:
        if self.file is None:
            return None
        try:
            return os.tcgetpgrp(self.file)
        except OSError:
            return None

    def give(self, group: int) -> None:
        """Makes the group the foreground one, if pgo-advisor's is that now."""
        if self.file is not None and self.foreground() == self.own:
            with suppress(OSError):
                os.tcsetpgrp(self.file, group)

    def suspend(self, group: int) -> None:
        """The program was stopped, by Ctrl-Z or for reading in the background: do as it does."""
        if self.file is None:
            return
        if self.foreground() == self.own:
            # it read before it was given the terminal
            self.give(group)
        else:
            self.take(group)
            os.kill(os.getpid(), signal.SIGSTOP)
            self.give(group)
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)

    def take(self, group: int) -> None:
        if self.file is not None and self.foreground() == group:
            with suppress(OSError):
                os.tcsetpgrp(self.file, self.own)


@contextmanager
def _terminal() -> Iterator[_Terminal]:
    try:
        file = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        yield _Terminal(None)
        return
    # who takes the terminal back is in the background at that moment
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    terminal = _Terminal(file)
    was = terminal.foreground()
    try:
        yield terminal
    finally:
        if was == terminal.own:
            with suppress(OSError):
                os.tcsetpgrp(file, terminal.own)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL if before is None else before)
        os.close(file)
