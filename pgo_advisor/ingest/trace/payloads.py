"""Files that tlparse wrote, or that someone says it did: regular ones, of bounded size, each read once."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_MAX_BYTES = 64 << 20
_MAX_BYTES_TOGETHER = 4 << 30


def open_regular(path: str | Path) -> BinaryIO:
    """Opens a file to read its bytes. Raises OSError, also for what is no regular file."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return os.fdopen(file, "rb")


class Payloads:
    """The files that the records of one directory name as their payloads."""

    def __init__(self, directory: Path) -> None:
        self._directory = os.path.realpath(directory)
        self._read: set[tuple[int, int]] = set()
        self._room = _MAX_BYTES_TOGETHER

    def text(self, name: str) -> str | None:
        """What is in it. None if it cannot be read, lies elsewhere, is too large or was read before."""
        path = os.path.realpath(os.path.join(self._directory, name))
        if not path.startswith(f"{self._directory}{os.sep}"):
            return None
        try:
            with open_regular(path) as file:
                status = os.fstat(file.fileno())
                identity = (status.st_dev, status.st_ino)
                if identity in self._read or status.st_size > min(_MAX_BYTES, self._room):
                    return None
                self._read.add(identity)
                self._room -= status.st_size
                return file.read(status.st_size).decode("utf-8", errors="replace")
        except (OSError, ValueError):
            return None
