"""What the tables tell of a frame's inputs and of source files."""

from __future__ import annotations

import re
from collections import defaultdict

from pgo_advisor.replay.frames import rows
from pgo_advisor.report import FrameReport
from pgo_advisor.tables import Tables

_CRC32 = re.compile("[0-9a-fA-F]{1,8}")
"""Code that is in no file has its name, as `<string>`, in this place."""


def file_hashes(tables: Tables) -> dict[str, set[int]]:
    """CRC-32s of source files by their recorded names, as the PGO artifacts give them."""
    hashes: dict[str, set[int]] = defaultdict(set)
    for row in rows(tables.pgo_entries):
        if row["file"] and _CRC32.fullmatch(row["file_hash"] or ""):
            hashes[row["file"]].add(int(row["file_hash"], 16))
    return hashes


class FrameInputs:
    """The inputs that each compile of a frame read, and what else than a tensor they were."""

    def __init__(self, tables: Tables) -> None:
        frame_of = {
            row["compile"]: (row["file"], row["line"], row["name"]) for row in rows(tables.compiles)
        }
        self._compiles: dict[object, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in rows(tables.inputs):
            frame = frame_of.get(row["compile"])
            self._compiles[frame][row["compile"]].add(row["source"])
        self._kinds: dict[tuple[object, str], set[str]] = defaultdict(set)
        for row in rows(tables.guards):
            if row["kind"] in ("NONE", "VALUE"):
                key = frame_of.get(row["compile"]), row["source"]
                self._kinds[key].add(row["value"])

    def of(self, frame: FrameReport) -> list[str]:
        """Dynamo's names of all inputs that a compile of the frame read."""
        return sorted(set().union(*self._by_compile(frame)))

    def lacks(self, frame: FrameReport, source: str) -> bool:
        """Whether a compile of the frame did not have this input: an item or a key need not be there."""
        return any(source not in inputs for inputs in self._by_compile(frame))

    def _by_compile(self, frame: FrameReport) -> list[set[str]]:
        return list(self._compiles[frame.file, frame.line, frame.name].values())

    def condition(self, frame: FrameReport, source: str) -> str | None:
        """What has to hold for a mark, with `{}` for the input and torch; None if it was always a tensor."""
        kinds = self._kinds.get(((frame.file, frame.line, frame.name), source), set())
        if kinds & {"int", "float"}:
            return "isinstance({}, {}.Tensor)"
        return "{} is not None" if "None" in kinds else None
