"""Takes a trace log apart that several processes have written: their compile ids would be mixed up.

A forked process goes on in its parent's file, and launchers can give several processes the same name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from pgo_advisor.ingest.paths import Found

_RECORD = re.compile(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} (\d{1,8}) ")
_STRING = re.compile(rb'[^\n]{1,4096}?\.py:\d+\] \{"str": ?\[')
_MOST_LINE = 1 << 20
_MOST_PROCESSES = 256
_MOST_STRINGS = 1 << 20


def split_processes(item: Found, directory: Path) -> list[Found]:
    """The item itself, or if several processes wrote it, one item for each in `directory`."""
    if len(_processes(item.path)) < 2:
        return [item]
    directory.mkdir(parents=True)
    parts: dict[bytes, Path] = {}
    files: dict[bytes, BinaryIO] = {}
    strings: list[bytes] = []
    process = b""
    whole = True
    try:
        with item.path.open("rb") as log:
            while line := log.readline(_MOST_LINE):
                if whole and (match := _RECORD.match(line)):
                    process = match[1]
                    if process not in files and len(files) < _MOST_PROCESSES:
                        parts[process] = directory / f"{process.decode()}.log"
                        files[process] = parts[process].open("wb")
                        # a forked process goes on with its parent's string table
                        files[process].writelines(strings)
                    if _STRING.match(line) and len(strings) < _MOST_STRINGS:
                        strings.append(line)
                if process in files:
                    files[process].write(line)
                whole = line.endswith(b"\n")
    finally:
        for file in files.values():
            file.close()
    return [
        replace(item, path=path, shown=Path(f"{item.shown} (process {process.decode()})"))
        for process, path in parts.items()
    ]


def _processes(log: Path) -> set[bytes]:
    found: set[bytes] = set()
    with log.open("rb") as file:
        while line := file.readline(_MOST_LINE):
            if line[:1] in b"VIWEC" and (match := _RECORD.match(line)):
                found.add(match[1])
                if len(found) > 1:
                    break
    return found
