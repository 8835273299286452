"""All kinds of attacks, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import archives
import files
import profiles
import programs
import texts
import traces
from base import Attack

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
