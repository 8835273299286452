"""Makes traces of any size from a recorded one: its compiles again and again, as other functions'."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

RECORDED = Path(__file__).parents[2] / "tests/fixtures/traces/2.13.0/s24_seedseq_inductor.log.gz"

_STRING = re.compile(rb'\] \{"str": \["(.*)", (\d+)\]\}')
_CHECKSUM = re.compile(rb'"has_payload": "[0-9a-f]{32}"')


class Recording:
    """A recorded log of one function, to be repeated."""

    def __init__(self, path: Path) -> None:
        self.strings: list[bytes] = []
        self._records: list[tuple[bytes, bytes]] = []
        for line in gzip.decompress(path.read_bytes()).splitlines(keepends=True):
            if line.startswith(b"\t"):
                header, payload = self._records[-1]
                self._records[-1] = (header, payload + line[1:])
            elif _STRING.search(line):
                self.strings.append(line)
            else:
                self._records.append((line, b""))
        name = path.name.partition(".")[0].encode()
        self._name = name
        number = next(
            match[2]
            for line in self.strings
            if (match := _STRING.search(line)) and match[1].endswith(name + b".py")
        )
        self._file = re.compile(rb'"filename": %s\b' % number)
        self._string = next(line for line in self.strings if name in line)

    def copies(self) -> Iterator[bytes]:
        """The recording once more and once more, each of another file and with other frame ids.

        The payloads' checksums are right. The string table of the recording has to come first.
        """
        for number in count():
            yield b"".join(self._copy(number))

    def _copy(self, number: int) -> Iterator[bytes]:
        name = b"%s_%05d" % (self._name, number)
        string = len(self.strings) + number
        yield re.sub(rb", \d+\]\}", b", %d]}" % string, self._string).replace(self._name, name)
        for header, payload in self._records:
            header = header.replace(self._name, name)
            header = header.replace(b'"frame_id": 0', b'"frame_id": %d' % number)
            header = self._file.sub(b'"filename": %d' % string, header)
            if payload:
                payload = payload.replace(self._name, name)
                payload = re.sub(rb"\b0/(\d)\b", rb"%d/\1" % number, payload)
                digest = hashlib.md5(payload.removesuffix(b"\n"), usedforsecurity=False).hexdigest()
                header = _CHECKSUM.sub(b'"has_payload": "%s"' % digest.encode(), header)
            yield header
            yield from (b"\t" + line for line in payload.splitlines(keepends=True))


def write_large_trace(path: Path, size: int, recorded: Path = RECORDED) -> int:
    """Writes at least `size` bytes, and returns how many times the recording is in it."""
    recording = Recording(recorded)
    with path.open("wb") as log:
        log.writelines(recording.strings)
        for number, copy in enumerate(recording.copies(), 1):
            if log.tell() + log.write(copy) >= size:
                return number
    raise AssertionError


def write_ranks(directory: Path, ranks: int, size: int, recorded: Path = RECORDED) -> None:
    """Writes a log of at least `size` bytes for each of so many ranks, named as PyTorch names them."""
    directory.mkdir()
    log = directory / "log"
    write_large_trace(log, size, recorded)
    content = log.read_bytes()
    log.unlink()
    for rank in range(ranks):
        ranked = re.sub(
            rb'^([VIWEC]\d{4} .*\] \{"(?!str")\w+": .*)\}$',
            rb'\1, "rank": %d}' % rank,
            content,
            flags=re.MULTILINE,
        )
        name = f"dedicated_log_torch_trace_rank_{rank}_made.log"
        (directory / name).write_bytes(ranked)
