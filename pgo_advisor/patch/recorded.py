"""What the tables tell of a frame's inputs and files."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pgo_advisor.replay.frames import rows
from pgo_advisor.report import FrameReport

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis


_CRC32 = re.compile("[0-9a-fA-F]{1,8}")
"""Code that is in no file has its name, as `<string>`, in this place."""


class Recorded:
    """`hashes`: CRC-32s of source files by their recorded names."""

    def __init__(self, analysis: Analysis) -> None:
        tables = analysis.tables
        self.hashes: dict[str, set[int]] = defaultdict(set)
        for row in rows(tables.pgo_entries):
            if row["file"] and _CRC32.fullmatch(row["file_hash"] or ""):
                self.hashes[row["file"]].add(int(row["file_hash"], 16))
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

    def inputs(self, frame: FrameReport) -> list[str]:
        """Dynamo's names of all inputs that a compile of the frame read."""
        return sorted(set().union(*self._of(frame)))

    def lacks(self, frame: FrameReport, source: str) -> bool:
        """Whether a compile of the frame did not have this input: an item or a key need not be there."""
        return any(source not in inputs for inputs in self._of(frame))

    def _of(self, frame: FrameReport) -> list[set[str]]:
        return list(self._compiles[frame.file, frame.line, frame.name].values())

    def condition(self, frame: FrameReport, source: str) -> str | None:
        """What has to hold for a mark, with `{}` for the input and torch; None if it was always a tensor."""
        kinds = self._kinds.get(((frame.file, frame.line, frame.name), source), set())
        if kinds & {"int", "float"}:
            return "isinstance({}, {}.Tensor)"
        return "{} is not None" if "None" in kinds else None
