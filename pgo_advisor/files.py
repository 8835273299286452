"""Writing outputs: never over something of the user's unasked, never a partial file."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pgo_advisor.errors import OutputError


def check_writable(path: Path, *, force: bool = False) -> None:
    """Raises OutputError if `path` exists and may not be replaced, or its directory does not exist."""
    target = _target(path)
    if target.is_dir():
        raise OutputError(f"{path} is a directory; name a file")
    if target.exists() and not target.is_file():
        return  # a pipe or a device, which is written to and not replaced
    if target.exists() and not force:
        raise OutputError(f"{path} exists already; give --force to replace it")
    if not target.parent.is_dir():
        raise OutputError(f"{path.parent} is no directory; make it first, or name another place")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"{path.parent} cannot be written to; name another place")


def _target(path: Path) -> Path:
    """Where the links of a name lead. Raises OutputError if they go round, or it can be no file's."""
    try:
        with suppress(FileNotFoundError):
            path.stat()
        return Path(os.path.realpath(path))
    except FileNotFoundError as error:
        raise OutputError(f"{path} cannot be written: the working directory was deleted") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise OutputError(f"{path} cannot be written: {why}") from error


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Writes `text` as UTF-8, see `replace_file`."""
    check_writable(path, force=force)
    replace_file(path, text.encode("utf-8", errors="replace"))


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file: into a temporary one beside it that then takes its place, with its permissions.

    A symbolic link is followed; a pipe or a device is written to. Raises OutputError.
    """
    target = _target(path)
    try:
        if target.exists() and not target.is_file():
            # a pipe that nobody reads is an error, not a reason to wait
            flags = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)
            with open(target, "wb", opener=lambda name, _: os.open(name, flags)) as device:
                os.set_blocking(device.fileno(), True)
                device.write(data)
            return
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            os.chmod(part, mode)
            os.replace(part, target)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error


def check_new_directory(path: Path) -> None:
    """Raises OutputError if `path` exists and is not an empty directory."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise OutputError(f"{path} exists already and is not an empty directory; name another")


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """A temporary directory beside `path` to fill, which becomes `path` if all goes well.

    Raises OutputError if `path` exists and is not an empty directory, or cannot be made.
    """
    check_new_directory(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {error.strerror}") from error
    try:
        yield part
        part.chmod(0o777 & ~_umask())
        os.replace(part, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[Path]:
    """A directory that exists within the context. That it cannot be removed is no error: it is left."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield path
    finally:
        with suppress(Exception):
            remove_directory(path)


def remove_directory(path: Path) -> None:
    """Removes a temporary directory, into which a process that is just ending may still write."""
    for _ in range(20):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # a program may have put a file or a link in its place
            path.unlink()
        if not path.exists():
            return
        time.sleep(0.1)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
