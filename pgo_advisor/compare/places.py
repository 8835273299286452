"""Recorded files and functions as a checkout has them: paths from its root, and qualified names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import libcst as cst

from pgo_advisor.patch.frame_inputs import file_hashes
from pgo_advisor.patch.locate import Files, NotFound, PathMap
from pgo_advisor.patch.repository import default_root
from pgo_advisor.patch.source_file import SourceFile
from pgo_advisor.tables import Tables

_MAX_PARTS = 40
_INSTALLED = {"site-packages", "dist-packages"}


class Checkout:
    """The directory that the recorded program was in (default: the git repository, or the current directory).

    `maps` tell where files of the recorded machine are now.
    """

    def __init__(self, root: Path | None = None, maps: Sequence[PathMap] = ()) -> None:
        self.root = (root or default_root()).resolve()
        self._maps = maps
        self.relative = cache(self._relative)

    def _relative(self, file: str) -> str | None:
        """The path from the root, with slashes; None if the file is not in there.

        Of a file that was recorded in another place, the longest end of its path that is a file here.
        """
        path = Files(self.root, self._maps, {}).path(file)
        if path.is_relative_to(self.root) and os.path.isfile(path):
            return path.relative_to(self.root).as_posix()
        parts = PurePosixPath(file.replace("\\", "/")).parts[-_MAX_PARTS:]
        if ".." in parts or not _INSTALLED.isdisjoint(parts):
            return None
        ends = ("/".join(parts[start:]) for start in range(1, len(parts)))
        return next((end for end in ends if os.path.isfile(self.root / end)), None)

    def shown(self, file: str) -> str:
        """The path from the root; of a file that is not in there its end, without what is of one machine."""
        if relative := self.relative(file):
            return relative
        parts = PurePosixPath(file.replace("\\", "/")).parts
        installed = [i for i, part in enumerate(parts) if part in _INSTALLED]
        return "/".join(parts[installed[-1] + 1 :] if installed else parts[-2:]).lstrip("/")

    def qualified(
        self, tables: Tables, functions: Iterable[tuple[str, int, str]]
    ) -> dict[tuple[str, int, str], str]:
        """Qualified names by file, first line and name, of what stands in the files at hand as recorded."""
        files = Files(self.root, self._maps, file_hashes(tables))
        here: dict[str, str] = {}
        functions = list(functions)
        for file in {file for file, _, _ in functions}:
            if end := self.relative(file):
                here[file] = str(self.root / end)
        files.read(here.values())
        found = {}
        for file, line, name in functions:
            if file in here and (qualified := _qualified(files, file, here[file], line, name)):
                found[file, line, name] = qualified
        return found


def _qualified(files: Files, recorded: str, path: str, line: int, name: str) -> str | None:
    try:
        source = files.source(path)
    except NotFound:
        return None
    if files.is_traced(recorded, source) is False:
        return None
    for node in source.nodes:
        if isinstance(node, cst.FunctionDef) and node.name.value == name:
            first = node.decorators[0] if node.decorators else node
            if source.lines(first)[0] <= line <= source.lines(node.name)[0]:
                return _dotted(source, node)
    return None


def _dotted(source: SourceFile, node: cst.FunctionDef) -> str:
    """The `__qualname__` that Python gives it."""
    parts = [node.name.value]
    for outer in source.ancestors(node):
        if isinstance(outer, cst.FunctionDef):
            parts += ["<locals>", outer.name.value]
        elif isinstance(outer, cst.ClassDef):
            parts.append(outer.name.value)
    return ".".join(reversed(parts))
