"""All kinds of attacks, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scripts.attack import archives, files, profiles, programs, texts, traces
from scripts.attack.base import Attack

KINDS: dict[str, Callable[[], Iterator[Attack]]] = {
    "archives": archives.attacks,
    "profiles": profiles.attacks,
    "streams": files.streams,
    "options": files.options,
    "directories": files.directories,
    "terminal": texts.terminal,
    "shells": texts.shells,
    "patterns": texts.patterns,
    "structures": traces.structures,
    "damage": traces.damage,
    "tlparse-directories": traces.directories,
    "sources": traces.sources,
    "programs": programs.attacks,
}
