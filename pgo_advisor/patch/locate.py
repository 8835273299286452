"""Finding recorded files and statements on this machine."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pgo_advisor.patch.marks import patched
from pgo_advisor.patch.parse_check import unparsable
from pgo_advisor.patch.read import read_below
from pgo_advisor.patch.repository import refusal
from pgo_advisor.patch.source_file import SourceFile, decoded


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
        self._roots = (root, *(_resolved(item.new) for item in maps))
        self._hashes = hashes
        self._paths: dict[str, Path] = {}
        self._read: dict[Path, SourceFile | str] = {}

    def path(self, recorded: str) -> Path:
        """Where a recorded file is now."""
        if recorded not in self._paths:
            self._paths[recorded] = self._found(recorded)
        return self._paths[recorded]

    def _found(self, recorded: str) -> Path:
        name = recorded.replace("\\", "/")
        for old, new in self._maps:
            prefix = old.replace("\\", "/").rstrip("/") + "/"
            if name.startswith(prefix):
                return _resolved(new / name[len(prefix) :])
        return _resolved(self._root / recorded)

    def source(self, recorded: str) -> SourceFile:
        """Raises NotFound."""
        if recorded.startswith("<"):
            raise NotFound(f"the code is in no file ({recorded})")
        self.read([recorded])
        path = self.path(recorded)
        found = self._read[path]
        if isinstance(found, str):
            asked = "" if str(path) == recorded else f", recorded as {recorded},"
            raise NotFound(f"{path}{asked} {found}")
        return found

    def read(self, recorded: Iterable[str]) -> None:
        """Reads files that are not read yet; those that are read together are tried in one process."""
        content: dict[Path, bytes] = {}
        texts: dict[Path, str] = {}
        for path in dict.fromkeys(map(self.path, recorded)):
            if path not in self._read:
                try:
                    content[path] = read_below(path, self._roots)
                    texts[path] = decoded(content[path])[0]
                except ValueError as error:
                    self._read[path] = str(error)
                except OSError as error:
                    self._read[path] = f"cannot be read: {error.strerror}"
        for path, reason in zip(texts, unparsable(list(texts.values())), strict=True):
            try:
                self._read[path] = reason or SourceFile(path, content[path])
            except ValueError as error:
                self._read[path] = str(error)

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
        return Path(os.path.realpath(path))
    except ValueError:
        return path  # no file can have this name, which reading it will say


def find_line(source: SourceFile, line: int, code: str | None, unchanged: bool | None) -> Place:
    """Where the statement that was recorded at `line` as `code` is now. Raises NotFound."""
    if unchanged:
        return Place(line)
    if not code:
        raise NotFound(
            "the file is not the traced one, or that is not known, and the line's text is not recorded"
        )
    same = source.lines_by_text.get(code, [])
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
