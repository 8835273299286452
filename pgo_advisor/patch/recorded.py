"""What the tables tell of a frame's inputs and files."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pgo_advisor.findings import FrameReport
from pgo_advisor.history import rows

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis


class Recorded:
    """`hashes`: CRC-32s of source files by their recorded names."""

    def __init__(self, analysis: Analysis) -> None:
        tables = analysis.tables
        self.hashes: dict[str, set[int]] = defaultdict(set)
        for row in rows(tables.pgo_entries):
            if row["file_hash"] and row["file"]:
                self.hashes[row["file"]].add(int(row["file_hash"], 16))
        frame_of = {
            row["compile"]: (row["file"], row["line"], row["name"]) for row in rows(tables.compiles)
        }
        self._inputs: dict[object, dict[str, None]] = defaultdict(dict)
        for row in rows(tables.inputs):
            self._inputs[frame_of.get(row["compile"])][row["source"]] = None
        self._absent: set[tuple[object, str]] = {
            (frame_of.get(row["compile"]), row["source"])
            for row in rows(tables.guards)
            if (row["kind"], row["value"]) == ("NONE", "None")
            or (row["kind"] == "VALUE" and row["value"] != "tensor")
        }

    def inputs(self, frame: FrameReport) -> list[str]:
        """Dynamo's names of all inputs that a compile of the frame read."""
        return list(self._inputs[frame.file, frame.line, frame.name])

    def is_absent_at_times(self, frame: FrameReport, source: str) -> bool:
        """Whether a recorded call had None, or something else than a tensor, there."""
        return ((frame.file, frame.line, frame.name), source) in self._absent
