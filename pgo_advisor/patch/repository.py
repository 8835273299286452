"""Which files may be changed, and changing them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from pgo_advisor.errors import OutputError
from pgo_advisor.files import replace_file
from pgo_advisor.patch.result import FilePatch

_INSTALLED = re.compile(r"[\\/](?:site-packages|dist-packages)[\\/]")


def default_root() -> Path:
    """The git repository of the current directory, else the current directory."""
    top = _git(Path.cwd(), "rev-parse", "--show-toplevel")
    return Path(top) if top else Path.cwd()


def refusal(path: Path, root: Path) -> str | None:
    """Why a file may not be changed; None if it may."""
    if _INSTALLED.search(str(path)):
        return f"{path} is an installed package's"
    if not path.is_relative_to(root):
        return f"{path} is outside of {root} (--root DIR names another directory)"
    return None


def write(files: Iterable[FilePatch], *, allow_dirty: bool) -> None:
    """Changes the files, each in one step. Raises OutputError before the first if one may not be changed."""
    files = tuple(files)
    for file in files:
        if file.path.read_bytes() != file.before:
            raise OutputError(f"{file.path} has changed in the meantime; run it again")
        if not allow_dirty and _git(
            file.path.parent, "status", "--porcelain", "--", file.path.name
        ):
            raise OutputError(
                f"{file.path} has changes that are not committed; commit them, or give --allow-dirty"
            )
    for file in files:
        replace_file(file.path, file.after)


def _git(directory: Path, *arguments: str) -> str:
    """What git prints, or nothing if there is no git or no repository."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.rstrip("\n") if done.returncode == 0 else ""
