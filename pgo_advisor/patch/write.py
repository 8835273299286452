"""Changing source files: all or none, each in one step, and nothing of them but the shown lines."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pgo_advisor.errors import OutputError
from pgo_advisor.patch.read import read_regular
from pgo_advisor.patch.repository import unsaved
from pgo_advisor.patch.result import FilePatch

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def write(files: Iterable[FilePatch], *, allow_dirty: bool) -> None:
    """Changes the files, none if one may not be changed. Raises OutputError.

    Permissions, owner and extended attributes stay. A new file takes the place of one that has one name and
    whose owner it can have; another is overwritten, so that its other names have the change, too. A signal
    that comes meanwhile is handled afterwards.
    """
    files = tuple(files)
    for file in files:
        if reason := _refusal(file, allow_dirty=allow_dirty):
            raise OutputError(f"{file.path} {reason}")
    with _uninterrupted(), ExitStack() as stack:
        try:
            parts = []
            for file in files:
                parts.append((file, _part(file, stack)))
            for file, part in parts:
                if part is None:
                    _overwrite(file)
            for file, part in parts:
                if part is not None:
                    os.replace(part, file.path)
        except OSError as error:
            raise OutputError(f"{file.path} cannot be written: {error.strerror}") from error


def _refusal(file: FilePatch, *, allow_dirty: bool) -> str | None:
    try:
        status = os.lstat(file.path)
        if read_regular(file.path) != file.before:
            return "has changed in the meantime; run it again"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError as error:
        return str(error)
    # os.access alone lets root write to all files
    if not status.st_mode & 0o222 or not os.access(file.path, os.W_OK):
        return "is read-only; make it writable first"
    if not allow_dirty and (reason := unsaved(file.path)):
        return f"{reason}; commit it, or give --allow-dirty"
    return None


def _part(file: FilePatch, stack: ExitStack) -> Path | None:
    """A file to take the place of one; None where it would not be the same but for its content."""
    status = file.path.stat()
    if status.st_nlink > 1:
        return None
    with suppress(PermissionError):
        handle, name = tempfile.mkstemp(dir=file.path.parent, prefix=".pgo-advisor-")
        part = Path(name)
        stack.callback(part.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as out:
            out.write(file.after)
            out.flush()
            os.fsync(handle)
            if hasattr(os, "fchown"):
                os.fchown(handle, status.st_uid, status.st_gid)
        shutil.copystat(file.path, part)
        os.utime(part)
        return part
    return None


def _overwrite(file: FilePatch) -> None:
    with file.path.open("r+b", buffering=0) as out:
        try:
            _fill(out.fileno(), file.after)
        except OSError:
            # the disk is full: what was there before has its place
            _fill(out.fileno(), file.before)
            raise


def _fill(handle: int, content: bytes) -> None:
    done = 0
    while done < len(content):
        done += os.pwrite(handle, content[done:], done)
    os.ftruncate(handle, len(content))
    os.fsync(handle)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Holds back the signals that would end the process, and lets them come at the end."""
    came: list[int] = []
    before: dict[int, Callable[..., object] | int] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name, None) for name in _ENDING):
                handler = None if number is None else signal.getsignal(number)
                if number is not None and handler not in (None, signal.SIG_IGN):
                    before[number] = handler
                    signal.signal(number, lambda caught, frame: came.append(caught))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
