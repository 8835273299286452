"""Copies what is sound of a trace log that tlparse refuses as a whole."""

from __future__ import annotations

import re
from pathlib import Path

_RECORD = re.compile(
    rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} \d{1,20} [^\n]{1,4096}?\.py:\d{1,9}\] \{"
)
_MOST_LINE = 64 << 20


def write_repaired(log: Path, copy: Path) -> list[str]:
    """Writes the records and their payloads as UTF-8; what was lost, in sentences, nothing if nothing was."""
    replaced = dropped = 0
    whole = True
    with log.open("rb") as damaged, copy.open("wb") as sound:
        while line := damaged.readline(_MOST_LINE):
            starts, whole = whole, line.endswith(b"\n")
            if not starts or not (line.startswith(b"\t") or _RECORD.match(line)):
                dropped += starts
                continue
            fixed = line.decode("utf-8", errors="replace").encode()
            replaced += fixed != line
            sound.write(fixed)
    lost = []
    if replaced:
        lost.append(f"{replaced} lines are not UTF-8 and were read with replacement characters")
    if dropped:
        lost.append(f"{dropped} lines are neither records nor payloads and were left out")
    return lost
