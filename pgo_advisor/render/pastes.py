"""What to paste, for each place where it can stand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from pgo_advisor.render.env import export
from pgo_advisor.render.snippet import render_snippet
from pgo_advisor.report import CallSite, FrameReport, Report

_LONG = 2_000
"""Characters of a list from which on it is shown in one form only."""
MAX_FUNCTIONS = 20
"""For so many the marks are shown, the most expensive ones."""


class Paste(NamedTuple):
    """A text to paste; `where` says into what, in a sentence."""

    label: str
    where: str
    text: str


_ENVIRONMENT = (
    ("Shell", "shell", "Before the program starts, in bash or any other POSIX shell."),
    ("Value", "value", "The bare value of TORCH_COMPILE_DYNAMIC_SOURCES, for a form field."),
    ("fish", "fish", "Before the program starts, in fish."),
    ("PowerShell", "powershell", "Before the program starts, in PowerShell."),
    (".env", "dotenv", "In a .env file."),
    ("Dockerfile", "dockerfile", "In the Dockerfile, before CMD."),
    ("Slurm", "slurm", "In the batch script; srun hands it on to all ranks."),
)


def environment(report: Report) -> list[Paste]:
    """The list as an environment variable; empty if there is none. Of a long list only the usual form."""
    if not report.dynamic_sources:
        return []
    forms = _ENVIRONMENT if len(report.dynamic_sources) <= _LONG else _ENVIRONMENT[:1]
    found = []
    for label, fmt, where in forms:
        with suppress(ValueError):  # what this format cannot hold
            found.append(Paste(label, where, export(report, fmt).rstrip("\n")))
    return found


def in_python(report: Report) -> list[Paste]:
    """The list as a setting, for one region instead of the whole program."""
    if not 0 < len(report.dynamic_sources) <= _LONG:
        return []
    return [
        Paste(
            "Around the call",
            "Around the calls that compile, not around torch.compile() itself.",
            export(report, "config").rstrip("\n"),
        ),
        Paste(
            "At the start",
            "At the start of the program, before the first call.",
            f"torch.compiler.config.dynamic_sources = {report.dynamic_sources!a}",
        ),
    ]


class LibraryCall(NamedTuple):
    """A call of a compiled function that library code makes with arguments of its own."""

    function: str
    site: CallSite


def library_calls(report: Report) -> list[LibraryCall]:
    """Advised functions that only library code calls: no statement of the user's own has their arguments."""
    return [
        LibraryCall(frame.id, frame.call_sites[0])
        for frame in _advised(report)
        if _by_library(frame)
    ]


def marks(report: Report) -> str:
    """The statements for calls that are the user's own; empty if there are none."""
    own = {frame.id for frame in islice(_own(report), MAX_FUNCTIONS)}
    items = [
        replace(item, frames=tuple(name for name in item.frames if name in own))
        for item in report.advice
        if own & set(item.frames)
    ]
    if not any(item.code for item in items):
        return ""
    return render_snippet(replace(report, advice=tuple(items)))


def unmarked(report: Report) -> int:
    """How many functions `marks` leaves out because they are many."""
    return max(0, sum(1 for _ in _own(report)) - MAX_FUNCTIONS)


def _own(report: Report) -> Iterator[FrameReport]:
    return (frame for frame in _advised(report) if not _by_library(frame))


def _advised(report: Report) -> Iterator[FrameReport]:
    names = {name for item in report.advice for name in item.frames}
    return (frame for frame in report.frames if frame.id in names)


def _by_library(frame: FrameReport) -> bool:
    return bool(frame.call_sites) and all(site.through for site in frame.call_sites)
