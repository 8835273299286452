"""A copy of a source tree, to run a changed program in: Python files are copied, all else is linked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from pgo_advisor.files import remove_directory
from pgo_advisor.patch.result import FilePatch

_NOT_WALKED = {".git", "__pycache__", "node_modules", "site-packages"}
_ENVIRONMENT = {"pyvenv.cfg", "conda-meta"}
"""What lies in a directory that is a Python environment."""


class Mirror:
    """Copies of the directory `root`, one at a time, below `place`, which does not exist outside of them.

    Real directories are only those with Python files, the current one, and those above `root`, so that
    `../data` is found, too. A Python file has to be a copy: for a script that is a link, Python imports
    from where that leads.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self._root = root.resolve()
        self._place = str(place.resolve())

    @cached_property
    def _directories(self) -> set[Path]:
        return _with_sources(self._root)

    @contextmanager
    def copy(self, files: Iterable[FilePatch]) -> Iterator[None]:
        """The root as it is now, with the changes of `files`. What was written into the copy goes with it."""
        try:
            for directory in (*self._root.parents, *self._directories):
                self._fill(directory)
            for file in files:
                changed = Path(self._place + str(file.path))
                changed.unlink()
                changed.write_bytes(file.after)
                shutil.copymode(file.path, changed)
            yield
        finally:
            remove_directory(Path(self._place))

    def _fill(self, directory: Path) -> None:
        copy = Path(self._place + str(directory))
        copy.mkdir(parents=True, exist_ok=True)
        entries = []
        with suppress(PermissionError, FileNotFoundError):
            entries = list(os.scandir(directory))
        for entry in entries:
            self._add(entry, copy / entry.name)

    def _add(self, entry: os.DirEntry[str], copy: Path) -> None:
        path = Path(entry.path)
        if path in self._directories or path in self._root.parents or entry.name == "__pycache__":
            return
        if entry.is_symlink():
            target = os.readlink(path)
            inside = os.path.isabs(target) and Path(target).is_relative_to(self._root)
            copy.symlink_to(self._place + target if inside else target)
            return
        if _is_python(path) and self._root in path.parents:
            with suppress(OSError):
                shutil.copy2(path, copy)
                return
        copy.symlink_to(path)

    def path(self, text: str) -> str:
        """Where an absolute path of the root is in the copy; as it is if that is the same file."""
        for form in (os.path.normpath(text), os.path.realpath(text)):
            if Path(form).is_relative_to(self._root):
                copy = self._place + form
                if os.path.realpath(copy) != os.path.realpath(form):
                    return copy
        return text

    def original(self, path: str) -> str:
        """The file that a path in the copy stands for."""
        return path.removeprefix(self._place)

    def command(self, command: Sequence[str]) -> list[str]:
        """The command for the copy: `ROOT/x` and `--opt=ROOT/x` become paths in it."""
        return [self._argument(text) for text in command]

    def _argument(self, text: str) -> str:
        if os.path.isabs(text):
            return self.path(text)
        option, _, value = text.partition("=")
        return f"{option}={self.path(value)}" if os.path.isabs(value) else text

    def variables(
        self, files: Iterable[FilePatch], given: Mapping[str, str] = os.environ
    ) -> dict[str, str]:
        """PYTHONPATH and PWD for the copy.

        Packages that the changes are in come first: installed in editable mode, they would be imported
        from the root.
        """
        entries = [
            str(top) for file in files if (top := _import_root(file.path)) != file.path.parent
        ]
        if given.get("PYTHONPATH"):
            entries += given["PYTHONPATH"].split(os.pathsep)
        paths = dict.fromkeys(self.path(os.path.abspath(entry)) for entry in entries)
        return {"PYTHONPATH": os.pathsep.join(paths), "PWD": self.path(os.getcwd())}


def _with_sources(root: Path) -> set[Path]:
    """The directories of a tree with Python files in or below them, the current one, and the root."""
    found = {root}
    here = os.getcwd()
    for directory, folders, names in os.walk(root):
        if _ENVIRONMENT & {*folders, *names} and directory != str(root):
            folders.clear()
            continue
        folders[:] = [name for name in folders if name not in _NOT_WALKED]
        if directory == here or any(map(_is_python, map(Path, names))):
            path = Path(directory)
            found.update(part for part in (path, *path.parents) if part.is_relative_to(root))
    return found


def _is_python(path: Path) -> bool:
    return path.suffix == ".py"


def _import_root(file: Path) -> Path:
    """The directory from which the file is imported by its full name."""
    directory = file.parent
    while (directory / "__init__.py").exists():
        directory = directory.parent
    return directory
