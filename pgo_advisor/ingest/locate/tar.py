"""Reads a tar as a stream, in time and memory that its size bounds.

`tarfile` holds every member, nests its headers, and takes quadratic time for some of them (CVE-2024-6232);
here it only reads the fixed header. POSIX.1-2001 (pax) and GNU have longer names in a member before.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Iterator

_BLOCK = 512
_MAX_HEADER = 1 << 20
_LONGER = {tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME}
_ABOUT_OTHERS = {tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK}
_EMPTY = {
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
}
_RECORD = re.compile(rb"(\d{1,8}) ([^=]{1,100})=")

NO_FILE = "links and devices are not unpacked"

Members = Iterator[tuple[str, Iterator[bytes] | str]]
"""Names, each with its content in pieces, or why it is left out."""


class Damaged(Exception):
    """The archive ends early or is damaged."""


class Stream:
    """Bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer at the end, which are read again."""
        while len(self._held) < size and (piece := next(self._pieces, None)) is not None:
            self._held += piece
        return self._held[:size]

    def read(self, size: int) -> bytes:
        """The next bytes, fewer at the end."""
        data = self.peek(size)
        self._held = self._held[len(data) :]
        return data

    def rest(self, size: int | None = None) -> Iterator[bytes]:
        """All that follows in pieces, or so many bytes of it. Raises Damaged if there are not as many."""
        while size is None or size > 0:
            held, self._held = self._held or next(self._pieces, None), b""
            if held is None:
                if size is not None:
                    raise Damaged("it ends early")
                return
            piece, self._held = (held, b"") if size is None else (held[:size], held[size:])
            size = None if size is None else size - len(piece)
            yield piece


def is_tar(head: bytes) -> bool:
    """Whether a file that begins so is a tar archive."""
    return head[257:262] == b"ustar"


def tar_members(stream: Stream, count: Callable[[], None]) -> Members:
    """The members; `count` is called for each header. Raises Damaged."""
    longer: dict[str, str] = {}
    while (block := stream.read(_BLOCK)).strip(b"\0"):
        count()
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            raise Damaged(f"one of its headers is damaged: {error}") from error
        size = _size(header, longer)
        content = stream.rest(size)
        if header.type in _LONGER:
            if size > _MAX_HEADER:
                raise Damaged("its headers are too long")
            longer |= _longer(header, b"".join(content))
        elif header.type not in _ABOUT_OTHERS:
            sparse = header.type == tarfile.GNUTYPE_SPARSE
            if header.isreg() and not sparse and "sparse" not in longer:
                yield longer.get("path", header.name), content
            elif not header.isdir():
                yield header.name, NO_FILE
            more = block[482:483] if sparse else b""
            while more.strip(b"\0"):
                more = stream.read(_BLOCK)[504:505]
            longer = {}
        for _ in content:
            pass
        stream.read(-size % _BLOCK)


def _size(header: tarfile.TarInfo, longer: dict[str, str]) -> int:
    """Bytes of content; links, devices and directories have none, whatever they say."""
    if header.type in _EMPTY:
        return 0
    size = header.size if header.type in _LONGER else int(longer.get("size", header.size))
    if size < 0:
        raise Damaged("a member is shorter than nothing")
    return size


def _longer(header: tarfile.TarInfo, content: bytes) -> dict[str, str]:
    """The fields `path` and `size`, and `sparse` if there is one, that the next header cannot hold."""
    if header.type == tarfile.GNUTYPE_LONGNAME:
        return {"path": content.partition(b"\0")[0].decode("utf-8", "surrogateescape")}
    fields = {}
    at = 0
    while match := _RECORD.match(content, at):
        end = at + int(match[1])
        value = content[match.end() : end - 1].decode("utf-8", "surrogateescape")
        name = match[2].decode("utf-8", "replace")
        if name.startswith("GNU.sparse."):
            fields["sparse"] = value
        elif name == "path" or (name == "size" and re.fullmatch(r"[0-9]{1,18}", value)):
            fields[name] = value
        if end <= at:
            break
        at = end
    return fields
