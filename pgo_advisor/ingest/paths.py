"""Finds out what a path is by looking at it: a trace log, what tlparse made of one, a PGO text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.pgo_text import is_pgo_text

_RECORD = re.compile(rb"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\n]*?\] \{", re.MULTILINE)
_RANK = re.compile(r"(?:^|_)rank_(\d{1,7})(?:_|\.|$)")
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
_HEAD = 1 << 20
_MAX_DEPTH = 4
_MAX_FILES = 100_000

WANTED = "a TORCH_TRACE directory or log, a directory that tlparse wrote, or a PGO text artifact"


@dataclass(frozen=True)
class Found:
    """One thing to be read. `rank` is what its name says, if it does."""

    kind: Literal["trace", "tlparse", "pgo"]
    path: Path
    rank: int | None


def find_inputs(paths: Iterable[Path]) -> list[Found]:
    """All inputs at the paths, directories searched through, each once, ordered by rank and name.

    Raises InputError for a path that does not exist, cannot be read, or holds none.
    """
    found: dict[Path, Found] = {}
    for path in paths:
        for item in _find(path):
            found.setdefault(item.path.resolve(), item)
    return sorted(
        found.values(), key=lambda item: (item.rank is None, item.rank or 0, str(item.path))
    )


def _find(path: Path) -> list[Found]:
    try:
        if path.is_dir():
            items = list(_search(path, _MAX_DEPTH, [_MAX_FILES]))
            if not items:
                raise InputError(f"{path} holds nothing that can be analysed{_hint(path)}")
            return items
        if not path.exists():
            raise InputError(f"{path} does not exist; name {WANTED}")
        if not path.is_file():
            raise InputError(f"{path} is no regular file; name {WANTED}")
        if item := _look(path):
            return [item]
        raise InputError(_not_known(path))
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be read: {error.strerror}") from error


def _search(directory: Path, depth: int, budget: list[int]) -> Iterator[Found]:
    if (directory / "raw.jsonl").is_file():
        yield Found("tlparse", directory, _rank(directory.name))
        return
    with os.scandir(directory) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        budget[0] -= 1
        if budget[0] < 0:
            raise InputError(f"{directory} holds too many files; name the trace directory itself")
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth and os.access(entry.path, os.R_OK | os.X_OK):
                yield from _search(Path(entry.path), depth - 1, budget)
        elif (
            entry.is_file() and os.access(entry.path, os.R_OK) and (item := _look(Path(entry.path)))
        ):
            yield item


def _look(path: Path) -> Found | None:
    head = _head(path)
    if _RECORD.search(head):
        return Found("trace", path, _rank(path.name))
    if head.startswith(b'{"string_table":') or (
        path.name == "index.html" and (path.parent / "raw.jsonl").is_file()
    ):
        return Found("tlparse", path.parent, _rank(path.parent.name))
    if is_pgo_text(head.decode("utf-8", errors="replace")):
        return Found("pgo", path, _rank(path.name))
    return None


def _not_known(path: Path) -> str:
    head = _head(path)
    if not head:
        return f"{path} is empty; was the program killed before it compiled anything?"
    for magic, name in _COMPRESSED.items():
        if head.startswith(magic):
            return f"{path} is compressed ({name}); unpack it first"
    return f"{path} is nothing that can be analysed; name {WANTED}"


def _hint(directory: Path) -> str:
    if not any(directory.iterdir()):
        return ": it is empty; was the program run with TORCH_TRACE set to it, and did it compile?"
    if (directory / "compile_directory.json").is_file():
        return ": tlparse before 0.3.45 wrote it, without raw.jsonl; name the trace log instead"
    return f"; name {WANTED}"


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _rank(name: str) -> int | None:
    match = _RANK.search(name)
    return int(match[1]) if match else None
