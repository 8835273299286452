"""Takes from a trace log what the record readers read, so that tlparse has little to do.

Most of a log is chromium events, graphs and generated code that no rule reads. What is left is split by
process (a forked one goes on in its parent's file, and compile ids would be mixed up), made sound (tlparse
refuses a whole file for a byte that is no UTF-8, or for a line that is no record), and cut into parts that
tlparse can read at the same time.

A record is a line of glog with JSON and, on lines that begin with a tab, its payload; written by
`torch/_logging/_internal.py`, `TorchLogsFormatter` and `trace_structured`. Blocks are read, rather than the
file mapped: who truncates a mapped file ends its reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pgo_advisor.ingest.records import READ_ARTIFACTS, READ_KINDS

_HEADER = 8192
RECORD = re.compile(
    rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} (?P<process>\d{1,20}) [^\n]{1,4096}?\.py:(?P<line>\d{1,9})\] \{"
    rb'(?:"(?P<kind>\w{1,99})": ?(?:\{"name": ?"(?P<name>\w{1,99})")?)?'
)
_BLOCK = 4 << 20
_PART = 8 << 20
_MOST_PROCESSES = 256
_MOST_STRINGS = 1 << 20
_READ = {*map(str.encode, READ_KINDS), b"str", b"artifact"}
_READ_ARTIFACTS = {*map(str.encode, READ_ARTIFACTS)}
_APART = {b"compilation_metrics", b"bwd_compilation_metrics"}
"""For each of these tlparse 0.4.3 draws a page with the symbolic guards of the compile, which takes 30 ms. In
a part of their own they have no guards."""


@dataclass(frozen=True)
class Process:
    """What one process wrote.

    `parts` are logs; in each, the line number that a record gives for its writer is the record's place in
    the whole log instead.
    """

    id: str
    parts: tuple[Path, ...]


@dataclass(frozen=True)
class Filtered:
    """The processes in the order of their first records; `losses` are what was lost, in sentences."""

    processes: tuple[Process, ...]
    losses: tuple[str, ...]


def prefilter(log: Path, directory: Path) -> Filtered:
    """Writes the parts into `directory`, which must not exist. Raises OSError."""
    directory.mkdir(parents=True)
    with log.open("rb") as file:
        # it may grow while it is read
        size = os.fstat(file.fileno()).st_size
        filter_ = _Filter(directory, large=size > _PART)
        try:
            for begins, content in _segments(file, size):
                filter_.take(content, begins=begins)
        finally:
            filter_.close()
        file.seek(max(0, size - 1))
        return filter_.filtered(cut=file.read(1) != b"\n")


def _segments(log: BinaryIO, size: int) -> Iterator[tuple[bool, bytes]]:
    """The first `size` bytes in pieces: each line that does not begin with a tab, with all that do after it.

    The bool says whether it is the beginning of one, with its header as a whole; a long one comes in several.
    """
    rest, begins, ended = b"", True, False
    while not ended:
        block = log.read(min(_BLOCK, size))
        size -= len(block)
        ended = not block
        data = rest + block
        starts = _starts(data)
        # of a header that may go on in the next block, and of a line end or a character, more has to be seen
        sure = starts if ended else [start for start in starts if start + _HEADER + 4 <= len(data)]
        if ended:
            end = len(data)
        elif begins and len(data) < _HEADER + 4:
            end, sure = 0, []
        else:
            end = starts[len(sure)] if len(sure) < len(starts) else _whole(data)
        for start, stop in pairwise([0, *sure, end]):
            if start < stop:
                yield begins or start > 0, data[start:stop]
        begins = end in starts[max(0, len(sure) - 1) :] if end else begins
        rest = data[end:]


def _starts(data: bytes) -> list[int]:
    """Where lines begin that do not begin with a tab, but for the first and one that is not seen yet."""
    array = np.frombuffer(data, dtype=np.uint8)
    after = np.flatnonzero(array[:-1] == ord("\n")) + 1
    starts: list[int] = after[array[after] != ord("\t")].tolist()
    return starts


def _whole(data: bytes) -> int:
    """How much of the data can be passed on: not the last line end, nor a part of a character."""
    end = len(data) - data.endswith(b"\n")
    for back in range(1, min(4, end) + 1):
        if data[end - back] & 0xC0 != 0x80:
            return end - back if data[end - back] >= 0x80 else end
    return end


class _Filter:
    def __init__(self, directory: Path, *, large: bool) -> None:
        self._directory = directory
        self._large = large
        self._writers: dict[bytes, _Writer] = {}
        self._strings: list[bytes] = []
        self._records = self._replaced = self._dropped = 0
        self._file: BinaryIO | None = None
        """Where the record that is being read goes; None if nowhere."""
        self._in_junk = False
        """Whether the line that is being read is no record's."""

    def take(self, content: bytes, *, begins: bool) -> None:
        if begins and (match := RECORD.match(content)):
            self._in_junk = False
            self._begin(match, content)
            return
        if begins:
            self._in_junk = True
            self._dropped += 1
        if self._in_junk:
            end = content.find(b"\n") + 1
            self._in_junk = not end
            content = content[end or len(content) :]
        self._write(content)

    def _begin(self, match: re.Match[bytes], content: bytes) -> None:
        kind, name = match["kind"], match["name"]
        self._records += 1
        self._file = None
        writer = self._writer(match["process"])
        if writer is None or (kind or b"str") not in _READ:
            return
        if kind == b"artifact" and name not in _READ_ARTIFACTS:
            return
        self._file = writer.file(apart=self._large and kind in _APART)
        if kind == b"str" and len(self._strings) < _MOST_STRINGS:
            self._strings.append(content)
            writer.strings.append(content)
        number = b"%d" % self._records
        self._write(content[: match.start("line")] + number + content[match.end("line") :])

    def _writer(self, process: bytes) -> _Writer | None:
        if process not in self._writers:
            if len(self._writers) == _MOST_PROCESSES:
                return None
            directory = self._directory / str(len(self._writers))
            # a forked process goes on with its parent's string table
            self._writers[process] = _Writer(directory, self._strings)
        return self._writers[process]

    def _write(self, content: bytes) -> None:
        if self._file is None:
            return
        try:
            content.decode()
        except UnicodeDecodeError:
            content = b"".join(self._sound(content.splitlines(keepends=True)))
        self._file.write(content)

    def _sound(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            fixed = line.decode("utf-8", errors="replace").encode()
            self._replaced += fixed != line
            yield fixed

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def filtered(self, *, cut: bool) -> Filtered:
        losses = ["the log ends within a line"] if cut else []
        if self._replaced:
            losses.append(
                f"{self._replaced} lines are not UTF-8 and were read with replacement characters"
            )
        if self._dropped:
            losses.append(
                f"{self._dropped} lines are neither records nor payloads and were left out"
            )
        return Filtered(
            tuple(
                Process(process.decode(), tuple(writer.parts))
                for process, writer in self._writers.items()
                if writer.parts
            ),
            tuple(losses),
        )


class _Writer:
    """The parts of one process: a new one is begun where the last is large, with the strings so far."""

    def __init__(self, directory: Path, strings: Sequence[bytes]) -> None:
        directory.mkdir()
        self._directory = directory
        self.strings = list(strings)
        self.parts: list[Path] = []
        self._apart: BinaryIO | None = None
        self._part: BinaryIO | None = None
        self._full = 0

    def file(self, *, apart: bool) -> BinaryIO:
        if apart:
            self._apart = self._apart or self._new()
            return self._apart
        if self._part is not None and self._part.tell() > self._full:
            self._part.close()
            self._part = None
        if self._part is None:
            self._part = self._new()
            self._part.writelines(self.strings)
            self._full = self._part.tell() + max(_PART, self._part.tell())
        return self._part

    def _new(self) -> BinaryIO:
        self.parts.append(self._directory / f"{len(self.parts)}.log")
        return self.parts[-1].open("wb")

    def close(self) -> None:
        for file in (self._apart, self._part):
            if file is not None:
                file.close()
