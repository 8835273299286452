"""Finding recorded files and statements on this machine."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pgo_advisor.patch.marks import patched
from pgo_advisor.patch.repository import refusal
from pgo_advisor.patch.source_file import SourceFile


class NotFound(Exception):
    """Why a file or a statement is not found, in words."""


class PathMap(NamedTuple):
    """A directory of the machine that was traced, and where its files are now."""

    old: str
    new: Path


@dataclass(frozen=True)
class Place:
    """A line. `patched`: the marks stand before it already, as this module's `find_line` recognises it."""

    line: int
    patched: bool = False


class Files:
    """The source files of a trace. `hashes` are CRC-32s by recorded name, as the PGO artifacts give them."""

    def __init__(self, root: Path, maps: Sequence[PathMap], hashes: Mapping[str, set[int]]) -> None:
        self._root = root
        self._maps = maps
        self._hashes = hashes
        self._read: dict[Path, SourceFile | str] = {}

    def path(self, recorded: str) -> Path:
        """Where a recorded file is now."""
        name = recorded.replace("\\", "/")
        for old, new in self._maps:
            prefix = old.replace("\\", "/").rstrip("/") + "/"
            if name.startswith(prefix):
                return _resolved(new / name[len(prefix) :])
        return _resolved(self._root / recorded)

    def source(self, recorded: str) -> SourceFile:
        """Raises NotFound."""
        path = self.path(recorded)
        if path not in self._read:
            self._read[path] = _read(path, recorded)
        found = self._read[path]
        if isinstance(found, str):
            raise NotFound(found)
        return found

    def changeable(self, recorded: str) -> SourceFile:
        """The same, of a file that may be changed. Raises NotFound."""
        if reason := refusal(self.path(recorded), self._root):
            raise NotFound(reason)
        return self.source(recorded)

    def name(self, source: SourceFile) -> str:
        """The file's path from the root, with slashes."""
        return source.path.relative_to(self._root).as_posix()

    def is_traced(self, recorded: str, source: SourceFile) -> bool | None:
        """Whether the file is still the one that was traced; None if the trace does not tell."""
        known = self._hashes.get(recorded)
        return zlib.crc32(source.content) in known if known else None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except ValueError:
        return path  # no file can have this name, which reading it will say


def _read(path: Path, recorded: str) -> SourceFile | str:
    if recorded.startswith("<"):
        return f"the code is in no file ({recorded})"
    asked = "" if str(path) == recorded else f", recorded as {recorded}"
    try:
        return SourceFile(path, path.read_bytes())
    except OSError as error:
        hint = "" if asked else " (--map OLD=NEW tells where it is now)"
        return f"{path}{asked} cannot be read: {error.strerror}{hint}"
    except ValueError as error:
        return f"{path}{asked}: {error}"


def find_line(source: SourceFile, line: int, code: str | None, unchanged: bool | None) -> Place:
    """Where the statement that was recorded at `line` as `code` is now. Raises NotFound."""
    if unchanged:
        return Place(line)
    if not code:
        raise NotFound(
            "the file is not the traced one, or that is not known, and the line's text is not recorded"
        )
    same = [n for n in range(1, source.line_count() + 1) if source.line_text(n) == code]
    if line in same and (unchanged is None or len(same) == 1):
        return Place(line)
    if len(same) == 1:
        return Place(same[0])
    done = patched(source, code)
    if same and not set(same) <= set(done):
        raise NotFound(f"the file has changed and has this line {len(same)} times")
    if done:
        return Place(done[0], patched=True)
    raise NotFound("the file has changed and no longer has this line")
