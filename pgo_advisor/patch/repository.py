"""Which files may be changed: those of the root, and of these what git could bring back."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_INSTALLED = re.compile(r"[\\/](?:site-packages|dist-packages)[\\/]")
_OF_GIT = re.compile(r"[\\/]\.git[\\/]", re.IGNORECASE)


def default_root() -> Path:
    """The git repository of the current directory, else the current directory."""
    top = _git(Path.cwd(), "rev-parse", "--show-toplevel")
    return Path(top) if top else Path.cwd()


def refusal(path: Path, root: Path) -> str | None:
    """Why a file may not be changed; None if it may."""
    if _OF_GIT.search(str(path)):
        return f"{path} is git's own"
    if _INSTALLED.search(str(path)):
        return f"{path} is an installed package's"
    if not path.is_relative_to(root):
        return f"{path} is outside of {root} (--root DIR names another directory)"
    return None


def unsaved(path: Path) -> str | None:
    """Why git could not bring a file back as it is now; None if it could, or there is no repository."""
    if not any((directory / ".git").exists() for directory in path.parents):
        return None
    state = _git(path.parent, "status", "--porcelain", "--ignored", "--", path.name)
    if state is None:
        return "is in a repository that git cannot read"
    if state.startswith("!!"):
        return "is ignored by git"
    return "has changes that are not committed" if state else None


def _git(directory: Path, *arguments: str) -> str | None:
    """What git prints; None if it fails, or is not installed."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
    try:
        done = subprocess.run(  # noqa: S603
            # a repository's settings can name a program that tells which files have changed
            ["git", "-c", "core.fsmonitor=false", *arguments],  # noqa: S607
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.rstrip("\n") if done.returncode == 0 else None
