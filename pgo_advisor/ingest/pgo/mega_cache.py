"""The bytes that `torch.compiler.save_cache_artifacts()` returns: the PGO states in them.

Written by `torch/compiler/_cache.py` over `torch/utils/_appending_byte_serializer.py`. Since 2.8: a
CRC-32, the version 1, then for each type its name in base64, a number of artifacts, and each one's key
in base64 and content; all numbers are 8 bytes, big-endian. In 2.7: the version, then for each artifact
the number of its type (3 is PGO), its key and its content.
"""

from __future__ import annotations

import base64
import binascii
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pgo_advisor.ingest.pgo.pickles import MAX_BYTES

_VERSION = (1).to_bytes(8, "big")
_MAX_NAME = 4096
_PGO_NUMBER = 3
_MAX_TYPES = 64
_MAX_ARTIFACTS = 100_000


def is_mega_cache(head: bytes) -> bool:
    """Whether a file that begins so is one."""
    if head[4:12] == _VERSION:
        length = int.from_bytes(head[12:20], "big")
        name = _decoded(head[20 : 20 + length]) if 0 < length <= _MAX_TYPES else None
        return name is not None and name.isidentifier()
    return head[:8] == _VERSION and head[8:15] == bytes(7) and len(head) > 24


def pgo_state(path: Path) -> tuple[bytes | None, list[str]]:
    """The last PGO state, as a pickle, and what of the file was lost, in sentences.

    PyTorch puts them one after the other into the same place. One that is too large is left out.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(12)
        named = head[4:] == _VERSION
        file.seek(12 if named else 8)
        losses = []
        last = None
        try:
            for place in _pgo_artifacts(file, size, named=named):
                last = place
        except EOFError as error:
            losses.append(f"the file is cut or damaged: {error}")
        if named and not losses and _checksum(file) != head[:4]:
            losses.append("the checksum does not match the content")
        if last is None:
            return None, losses
        file.seek(last[0])
        return file.read(last[1]), losses


def _pgo_artifacts(file: BinaryIO, size: int, *, named: bool) -> Iterator[tuple[int, int]]:
    """Where the PGO states begin, and their bytes. Raises EOFError for damage."""
    room = _MAX_ARTIFACTS
    while file.tell() < size:
        if named:
            is_pgo = _decoded(_bytes(file, size)) == "pgo"
            number = _number(file)
        else:
            is_pgo = _number(file) == _PGO_NUMBER
            number = 1
        room -= number + 1
        if room < 0:
            raise EOFError("it names more artifacts than any has")
        for _ in range(number):
            _bytes(file, size)
            length = _number(file)
            if length > size - file.tell():
                raise EOFError("an artifact is longer than the file")
            if is_pgo and length <= MAX_BYTES:
                yield file.tell(), length
            file.seek(length, os.SEEK_CUR)


def _number(file: BinaryIO) -> int:
    data = file.read(8)
    if len(data) < 8:
        raise EOFError("it ends within a number")
    return int.from_bytes(data, "big")


def _bytes(file: BinaryIO, size: int) -> bytes:
    length = _number(file)
    if length > min(_MAX_NAME, size - file.tell()):
        raise EOFError("a name is longer than the file, or than any name")
    return file.read(length)


def _decoded(text: bytes) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _checksum(file: BinaryIO) -> bytes:
    file.seek(4)
    checksum = 0
    while chunk := file.read(1 << 20):
        checksum = zlib.crc32(chunk, checksum)
    return checksum.to_bytes(4, "big")
