"""Takes from trace logs what the record readers read, so that tlparse has little to do.

Most of a log is chromium events, graphs and generated code that no rule reads. What is left is made sound
(tlparse refuses a whole file for a byte that is no UTF-8, or for a line that is no record), and put into
parts that tlparse can read at the same time: a large log into several, many small ones into one, since
tlparse takes longer to start than to read a small log.

A record is a line of glog with JSON and, on lines that begin with a tab, its payload; written by
`torch/_logging/_internal.py`, `TorchLogsFormatter` and `trace_structured`. Blocks are read, rather than the
file mapped: who truncates a mapped file ends its reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from pgo_advisor.ingest.trace.records import (
    READ_ARTIFACTS,
    READ_KINDS,
    Metrics,
    decode_rank,
    decode_string,
)
from pgo_advisor.ingest.trace.stacks import Strings

_HEADER = 8192
RECORD = re.compile(
    rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} (?P<process>\d{1,20}) [^\n]{1,4096}?\.py:(?P<line>\d{1,9})\] "
    rb'(?P<json>\{)(?:"(?P<kind>\w{1,99})": ?(?:\{"name": ?"(?P<name>\w{1,99})")?)?'
)
_RANK = re.compile(rb', "rank": (\d{1,9})(?=[,}])')
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_BLOCK = 4 << 20
_PART = 8 << 20
_MAX_PROCESSES = 256
_MAX_STRINGS = 1 << 20
_MAX_HEADER = 64 << 20
_MAX_CONFIGS = 64 << 20
_READ = {*map(str.encode, READ_KINDS), b"str", b"artifact"}
_READ_ARTIFACTS = {*map(str.encode, READ_ARTIFACTS)}
_APART = {b"compilation_metrics", b"bwd_compilation_metrics"}
"""For each of these tlparse 0.4.3 draws a page with the symbolic guards of the compile, which takes 30 ms. In
a part of their own they have no guards."""


@dataclass
class Process:
    """What one process wrote into a log. Ranks and string tables are not in the parts, see `Prefilter`."""

    log: int
    """Which of the logs."""
    id: str
    strings: Strings
    rank: int | None = None


def place(process: int, record: int) -> int:
    """The number of a record, counted over all logs, together with that of its process."""
    return process << 32 | record


def process_at(place: int) -> int:
    """Which process a record at this place is of."""
    return place >> 32


def record_at(place: int) -> int:
    """The number of the record in its process's log."""
    return place & 0xFFFF_FFFF


class Configs:
    """The configurations of all metrics, each once."""

    _NAMES = tuple(b'"%s": ' % name.encode() for name in (*Metrics.CONFIGS, "functorch_config"))

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._marks: dict[bytes, bytes] = {}
        self._last: dict[bytes, bytes] = {}
        self._room = _MAX_CONFIGS

    def take_from(self, metrics: bytes) -> bytes:
        """The JSON of metrics with a number, as `"@3"`, in place of each; not of what is not sound."""
        for name in self._NAMES:
            start = metrics.find(name) + len(name)
            if start < len(name):
                continue
            text = self._last.get(name, b"")
            # to compare it with the last one is faster than to look for its end
            if not text or not metrics.startswith(text, start):
                if not (match := _TEXT.match(metrics, start)):
                    continue
                text = match[0]
            if mark := self._mark(text):
                self._last[name] = text
                metrics = metrics[:start] + mark + metrics[start + len(text) :]
        return metrics

    def _mark(self, text: bytes) -> bytes | None:
        if text not in self._marks and len(text) <= self._room:
            try:
                decoded = msgspec.json.decode(text, type=str)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
            self._room -= len(text)
            mark = f"@{len(self._texts)}"
            self._marks[text] = f'"{mark}"'.encode()
            self._texts[mark] = decoded
        return self._marks.get(text)

    def put_into(self, metrics: Metrics) -> None:
        """Puts the texts back."""
        for name in metrics.CONFIGS:
            mark = getattr(metrics, name)
            setattr(metrics, name, self._texts.get(mark, mark))


class Prefilter:
    """Reads logs, one after the other, into parts that are logs of what is read.

    In them, the line number that a record gives for its writer is its `place` instead. A log can be of
    several processes, since a forked one goes on in its parent's file. Of ranks and string tables tlparse
    takes just one for a file, so that these are kept here. A configuration, which is most of what metrics
    are and mostly the same, is a number in `configs`, as `@3`.
    """

    def __init__(self, logs: Sequence[Path], directory: Path) -> None:
        """The parts go into `directory`, which must not exist."""
        self._logs = logs
        self._directory = directory
        self._complete: list[Path] = []
        self.kept = _Parts(directory / "kept", self._complete)
        self.apart = _Parts(directory / "apart", self._complete)
        self._records = 0
        self.configs = Configs()
        self.processes: list[Process] = []
        """In the order of their first records, by log."""
        self.losses: list[list[str]] = []
        """What was lost of each log, in sentences."""

    def parts(self) -> Iterator[Path]:
        """Writes the parts, and gives each when it is complete. Raises OSError."""
        self._directory.mkdir(parents=True)
        try:
            for number, log in enumerate(self._logs):
                with log.open("rb") as file:
                    # it may grow while it is read
                    size = os.fstat(file.fileno()).st_size
                    reading = _Reading(number, self, self._records)
                    for content, begins in _segments(file, size):
                        reading.take(content, begins=begins)
                        while self._complete:
                            yield self._complete.pop()
                    file.seek(max(0, size - 1))
                    self.losses.append(reading.end(cut=file.read(1) != b"\n"))
                    self._records = reading.records
        finally:
            self.kept.close()
            self.apart.close()
        yield from self._complete


def _segments(log: BinaryIO, size: int) -> Iterator[tuple[bytes, bool]]:
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
                yield data[start:stop], begins or start > 0
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


class _Reading:
    """What is read of one log. `records` counts on from those of the logs before it."""

    def __init__(self, log: int, prefilter: Prefilter, records: int) -> None:
        self.records = records
        self._log = log
        self._kept = prefilter.kept
        self._apart = prefilter.apart
        self._processes = prefilter.processes
        self._configs = prefilter.configs
        self._own: dict[bytes, int] = {}
        """The places in `processes`, by the ids that the log gives."""
        self._strings = Strings()
        self._room = _MAX_STRINGS
        self._replaced = self._dropped = self._crowded = self._unnamed = 0
        self._header = b""
        """The beginning of a record whose first line has not ended."""
        self._file: BinaryIO | None = None
        """Where the record that is being read goes; None if nowhere."""
        self._open: BinaryIO | None = None
        """A file that ends within a line."""
        self._in_junk = False
        """Whether the line that is being read is no record's."""

    def take(self, content: bytes, *, begins: bool) -> None:
        if begins:
            self._flush()
        elif self._header:
            content = self._header + content
            begins = True
        if begins and (match := RECORD.match(content)):
            self._in_junk = False
            end = content.find(b"\n", match.end())
            if end < 0 and len(content) < _MAX_HEADER:
                self._header = content
            else:
                self._header = b""
                self._begin(match, content, end if end >= 0 else len(content))
            return
        if begins:
            self._in_junk = True
            self._dropped += 1
        if self._in_junk:
            end = content.find(b"\n") + 1
            self._in_junk = not end
            content = content[end or len(content) :]
        self._write(content)

    def _flush(self) -> None:
        if self._header and (match := RECORD.match(self._header)):
            self._begin(match, self._header, len(self._header))
        self._header = b""

    def _begin(self, match: re.Match[bytes], content: bytes, end: int) -> None:
        kind = match["kind"]
        self.records += 1
        self._file = None
        process = self._process(match["process"])
        if process is None:
            self._crowded += 1
            return
        if (kind or b"str") not in _READ:
            return
        if kind == b"artifact" and match["name"] not in _READ_ARTIFACTS:
            return
        header, payload = self._sound(content[match.start("json") : end]), content[end:]
        if kind in {b"str", None} and self._take_string(header, process):
            return
        self._file = (self._apart if kind in _APART else self._kept).file()
        header = self._without_rank(header, process)
        if kind in _APART:
            header = self._configs.take_from(header)
        number = b"%d" % place(process, self.records)
        before, behind = match.span("line")
        glog = content[:before] + number + content[behind : match.start("json")]
        self._write(glog + header + payload)

    def _process(self, id_: bytes) -> int | None:
        """The process of this id; None if the log names too many."""
        if id_ not in self._own:
            if len(self._own) == _MAX_PROCESSES:
                return None
            self._own[id_] = len(self._processes)
            # a forked process goes on with its parent's string table
            strings = self._strings.copy() if self._room >= len(self._strings) else Strings()
            self._room -= len(strings)
            self._processes.append(Process(self._log, id_.decode(), strings))
        return self._own[id_]

    def _take_string(self, json: bytes, process: int) -> bool:
        """Whether it is an entry of the string table, `{"str": ["/app/train.py", 3]}`; it is taken then."""
        try:
            string, number = decode_string(json).entry
        except (msgspec.DecodeError, RecursionError):
            return False
        if self._room <= 0:
            self._unnamed += 1
        elif number >= 0:
            self._room -= 2
            for table in (self._strings, self._processes[process].strings):
                table.put(number, string)
        return True

    def _without_rank(self, json: bytes, process: int) -> bytes:
        start = json.rfind(b', "rank": ')
        if start < 0 or not (told := _RANK.match(json, start)):
            return json
        try:
            rank = decode_rank(json).rank
        except (msgspec.DecodeError, RecursionError):
            return json
        if rank != int(told[1]):
            return json  # it is that of something else
        self._processes[process].rank = rank
        return json[:start] + json[told.end() :]

    def _write(self, content: bytes) -> None:
        if self._file is None or not content:
            return
        content = self._sound(content)
        self._file.write(content)
        self._open = None if content.endswith(b"\n") else self._file

    def _sound(self, content: bytes) -> bytes:
        try:
            content.decode()
        except UnicodeDecodeError:
            lines = content.splitlines(keepends=True)
            fixed = [line.decode("utf-8", errors="replace").encode() for line in lines]
            self._replaced += sum(line != sound for line, sound in zip(lines, fixed, strict=True))
            return b"".join(fixed)
        return content

    def end(self, *, cut: bool) -> list[str]:
        """What was lost, in sentences, when all was taken. `cut`: the log's last line has no end."""
        self._flush()
        if self._open is not None:
            # another log may follow in the part
            self._open.write(b"\n")
        losses = ["the log ends within a line"] if cut else []
        if self._replaced:
            losses.append(
                f"{self._replaced} lines are not UTF-8 and were read with replacement characters"
            )
        if self._dropped:
            losses.append(
                f"{self._dropped} lines are neither records nor payloads and were left out"
            )
        if self._crowded:
            losses.append(
                f"{self._crowded} records are of further processes than the first {_MAX_PROCESSES} and "
                "were left out"
            )
        if self._unnamed:
            losses.append(f"{self._unnamed} names of files are more than are kept, and unknown")
        return losses


class _Parts:
    """Files of about `_PART` bytes, which go into `complete` when they are."""

    def __init__(self, place: Path, complete: list[Path]) -> None:
        self._place = place
        self._complete = complete
        self._number = 0
        self._file: BinaryIO | None = None

    def file(self) -> BinaryIO:
        """Where the next record goes."""
        if self._file is not None and self._file.tell() > _PART:
            self.close()
        if self._file is None:
            self._file = self._path.open("wb")
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            self._complete.append(self._path)
            self._number += 1

    @property
    def _path(self) -> Path:
        return self._place.with_name(f"{self._place.name}_{self._number}.log")
