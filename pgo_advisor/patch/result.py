"""What a patch is: for each call site what was done or why not, and for each file its change."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.patch.diff import unified
from pgo_advisor.report import Advice


class SiteOutcome(str, Enum):
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
    outcome: SiteOutcome
    reasons: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    path: Path | None = None
    found_line: int | None = None
    in_source: bool = False
    marked: tuple[SourceDim, ...] = ()
    """Inputs that have a mark there now, put or found."""
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

    def line_before(self, line: int) -> int:
        """Where a line of the changed file was; the statement's for what was put before it."""
        old, new = self.before.splitlines(), self.after.splitlines()
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        for _, i1, i2, j1, j2 in matcher.get_opcodes():
            if j1 < line <= j2:
                return max(i1 + 1, i2 - (j2 - line))
        return line


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

    def marked(self, advice: Advice) -> list[Site]:
        """Where the input has a mark; elsewhere than in these only its list entry declares it."""
        return [
            site
            for site in self.sites
            if site.frame in advice.frames and advice.pair in site.marked
        ]

    @property
    def diff(self) -> bytes:
        """All changes, for `git apply` in the root."""
        return b"".join(file.diff for file in self.files)
