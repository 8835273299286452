"""Copies what is sound of a trace log that tlparse refuses as a whole."""

from __future__ import annotations

from pathlib import Path

from pgo_advisor.ingest.trace.prefilter import RECORD

_MAX_LINE = 64 << 20


def write_repaired(log: Path, copy: Path) -> None:
    """Writes the records and their payloads as UTF-8. What it leaves out, `prefilter` tells."""
    whole = True
    with log.open("rb") as damaged, copy.open("wb") as sound:
        while line := damaged.readline(_MAX_LINE):
            starts, whole = whole, line.endswith(b"\n")
            if starts and (line.startswith(b"\t") or RECORD.match(line)):
                sound.write(line.decode("utf-8", errors="replace").encode())
