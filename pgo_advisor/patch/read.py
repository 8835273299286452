"""Reading a source file that a trace names: only a regular file below a directory that the user gave."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

MAX_BYTES = 1 << 20
"""Of a source file. Ten times the longest that people write; LibCST takes a minute for it."""
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY"))


def read_below(path: Path, roots: Iterable[Path]) -> bytes:
    """The content of a file; `path` and `roots` are resolved. Raises OSError, or ValueError: "is no …"."""
    if not any(path.is_relative_to(root) for root in roots):
        raise ValueError("is outside of the directories that are read (--root, --map)")
    content = read_regular(path)
    if os.path.realpath(path) != str(path):
        raise ValueError("has become a link")
    return content


def read_regular(path: Path) -> bytes:
    """The content of a regular file that is no link. Raises OSError, or ValueError with the reason."""
    _check(os.lstat(path))
    # what it was a moment ago it need not be: a FIFO would block, and a link lead elsewhere
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _FLAGS)) as file:
        before = os.fstat(file.fileno())
        _check(before)
        content = file.read(MAX_BYTES + 1)
        after = os.fstat(file.fileno())
    if len(content) != after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise ValueError("changes while it is read")
    return content


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("is no regular file")
    if status.st_size > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES >> 20} MiB, too large for a source file")
