"""What a patch is: for each call site what was done or why not, and for each file its change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pgo_advisor.findings import Advice
from pgo_advisor.patch.diff import unified


class Outcome(str, Enum):
    """What became of a call site."""

    marked = "marked"
    """Marks are put before it; `reasons` tell of inputs that get none."""
    present = "already marked"
    refused = "refused"


@dataclass(frozen=True)
class Site:
    """A call of a compiled function that was to be marked.

    `file` and `line` are as recorded; `path` and `found_line` where that statement is now. `in_source`: the
    trace does not tell who calls the function, the call was found in its source file.
    """

    frame: str
    file: str
    line: int
    code: str | None
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    path: Path | None = None
    found_line: int | None = None
    in_source: bool = False
    diff: str = ""
    """What this site alone changes, for reading."""


@dataclass(frozen=True)
class FilePatch:
    """A file's change. `name` is its path from the root, with slashes."""

    path: Path
    name: str
    before: bytes
    after: bytes

    @property
    def diff(self) -> bytes:
        return unified(self.name, self.before, self.after)


@dataclass(frozen=True)
class Patch:
    """The marks of an analysis as changes to source files.

    `unmarkable` is the advice that only the list can carry out.
    """

    root: Path
    sites: tuple[Site, ...]
    files: tuple[FilePatch, ...]
    unmarkable: tuple[Advice, ...]
    notes: tuple[str, ...]

    @property
    def diff(self) -> bytes:
        """All changes, for `git apply` in the root."""
        return b"".join(file.diff for file in self.files)
