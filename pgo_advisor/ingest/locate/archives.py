"""Unpacks compressed files and archives into a temporary directory, within limits.

What is unpacked is hostile: names that lead out of the directory, links and devices are left out,
and `Limits` end a bomb early. Nothing of an archive but names and contents is used, so no mode,
owner or link of it reaches the disk.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.limits import GIB, Limits

_CHUNK = 1 << 16
_STEP = 1 << 13
_NO_FILE = "links and devices are not unpacked"
_MAX_HEADER = 1 << 20
_MAX_DIRECTORY = 64 << 20
_SUFFIXES = {".gz", ".zst", ".zstd", ".xz", ".bz2", ".tgz", ".txz", ".tbz", ".tbz2", ".tzst"}


_Count = Callable[[int], None]
_Open = Callable[[], Any]
_Members = Iterator[tuple[str, _Open | str]]
"""Names, each with what opens it, or why it is left out."""


class _Damaged(Exception):
    """The archive ends early or is damaged; what came before was unpacked."""


_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


def packing(head: bytes) -> str | None:
    """The name of the packing that a file's first bytes tell of; None if it is not packed."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    return "tar" if head[257:262] == b"ustar" else None


class Unpacker:
    """Unpacks into numbered directories below `directory`. `losses` says, in sentences, what was left out."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._bytes = self._members = self._archives = 0
        self._done: dict[Path, Path] = {}
        self.losses: list[str] = []

    def unpack(self, path: Path, kind: str, shown: Path) -> Path:
        """The directory with the contents of the packed file at `path`, which is named as `shown`.

        Raises InputError if it exceeds the limits or nothing of it can be unpacked.
        """
        resolved = path.resolve()
        if resolved not in self._done:
            self._archives += 1
            target = self._directory / str(self._archives)
            target.mkdir(parents=True)
            self._unpack(path, kind, shown, target)
            self._done[resolved] = target
            if path.is_relative_to(self._directory):
                path.unlink()
        return self._done[resolved]

    def _unpack(self, path: Path, kind: str, shown: Path, target: Path) -> None:
        count = self._meter(path, shown)
        left_out: Counter[str] = Counter()
        damage = None
        try:
            if kind == "zip":
                members = _zip_members(path, count)
            else:
                members = _stream_members(path, kind, shown, count)
            for name, open_member in members:
                self._members += 1
                if self._members > self._limits.members:
                    raise _too_much(shown, f"{self._limits.members:,} members")
                why = _write(name, open_member, target)
                if why:
                    left_out[why] += 1
        except _Damaged as error:
            damage = str(error)
        except RecursionError:
            damage = "its headers are nested too deeply"
        except _DAMAGE as error:
            damage = _said(error)
        if damage and not any(target.iterdir()):
            raise InputError(f"{shown} cannot be unpacked ({kind}): {damage}")
        if damage:
            self.losses.append(f"{shown}: cut or damaged, what comes before is read: {damage}")
        self.losses += (
            f"{shown}: {number} member{'s were' if number > 1 else ' was'} left out: {why}"
            for why, number in left_out.items()
        )

    def _meter(self, path: Path, shown: Path) -> _Count:
        """What is called with each number of bytes that was unpacked, and ends what is too much."""
        packed = path.stat().st_size
        unpacked = 0

        def count(size: int) -> None:
            nonlocal unpacked
            unpacked += size
            self._bytes += size
            if self._bytes > self._limits.bytes:
                raise _too_much(shown, f"{self._limits.bytes / GIB:g} GiB")
            if unpacked > 64 << 20 and unpacked > self._limits.ratio * packed:
                raise _too_much(shown, f"{self._limits.ratio} times its size")

        return count


def _write(name: str, open_member: _Open | str, target: Path) -> str | None:
    """Writes one member; why it was left out, if it was."""
    if isinstance(open_member, str):
        return open_member
    place = _place(name)
    if place is None:
        return "the name leads out of the archive"
    path = target / place
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = path.open("wb")
    except (OSError, ValueError) as error:
        return f"the name cannot be used here ({_said(error)})"
    with copy:
        try:
            member = open_member()
        except (NotImplementedError, RuntimeError) as error:
            return f"it cannot be read ({_said(error)})"  # an unknown method, or encrypted
        try:
            while chunk := member.read1(_CHUNK):
                copy.write(chunk)
        except zipfile.BadZipFile as error:
            return f"the rest of it ({_said(error)})"
    return None


def _too_much(shown: Path, limit: str) -> InputError:
    return InputError(
        f"{shown} unpacks to more than {limit}; if it is no bomb, give --unpack-limit a larger number"
    )


def _said(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _place(name: str) -> PurePosixPath | None:
    """Where a member goes, relative; None if its name is absolute, leads upwards, or names nothing."""
    if name.startswith(("/", "\\")) or "\0" in name or (os.name == "nt" and ":" in name):
        return None
    parts = [part for part in re.split(r"[\\/]", name) if part not in ("", ".")]
    if not parts or ".." in parts or re.fullmatch(r"[A-Za-z]:", parts[0]):
        return None
    return PurePosixPath(*parts)


def _zip_members(path: Path, count: _Count) -> _Members:
    if _zip_directory_size(path) > _MAX_DIRECTORY:
        raise _Damaged("its directory is too large")
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            if info.is_dir():
                continue
            if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                yield info.filename, _NO_FILE
            else:
                yield info.filename, partial(_zip_member, archive, info, count)


def _zip_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, count: _Count
) -> io.BufferedReader[_Raw]:
    return io.BufferedReader(_Raw(archive.open(info), count))


def _zip_directory_size(path: Path) -> int:
    """The size of a zip's directory, which zipfile reads into memory as a whole."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 65_557 - 76))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 16:
        return 0
    (directory,) = struct.unpack_from("<L", tail, end + 12)
    end64 = tail.rfind(b"PK\x06\x06", 0, end)
    if directory == 0xFFFFFFFF and end64 >= 0 and len(tail) >= end64 + 48:
        (directory,) = struct.unpack_from("<Q", tail, end64 + 40)
    return int(directory)


def _stream_members(path: Path, kind: str, shown: Path, count: _Count) -> _Members:
    """The one file that a compressed file holds, or the members of the tar in it."""
    with path.open("rb") as file:
        stream = io.BufferedReader(_Raw(_OPENERS[kind](file), count), _CHUNK)
        if stream.peek(512)[257:262] == b"ustar":
            yield from _tar_members(stream)
        else:
            stem = shown.stem if shown.suffix.lower() in _SUFFIXES else shown.name
            yield stem or "content", partial(_same, stream)


def _tar_members(stream: io.BufferedReader[Any]) -> _Members:
    guard = _HeaderGuard(stream)
    with tarfile.open(fileobj=guard, mode="r|") as archive:  # type: ignore[call-overload]
        while True:
            guard.allowed = _MAX_HEADER
            member = archive.next()
            guard.allowed = None
            archive.members = []  # it would keep all of them
            if member is None:
                return
            if member.isdir():
                continue
            if member.isreg() and not member.issparse():
                content: Any = archive.extractfile(member)
                yield member.name, partial(_same, content)
                while content.read1(_CHUNK):
                    pass
            else:
                yield member.name, _NO_FILE


def _same(content: Any) -> Any:
    return content


class _Raw(io.RawIOBase):
    """Reads what can be had at once: a larger read would lose what comes before damage."""

    def __init__(self, stream: Any, count: _Count) -> None:
        self._stream, self._count = stream, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(min(len(buffer), _STEP))
        self._count(len(data))
        buffer[: len(data)] = data
        return len(data)


class _HeaderGuard:
    """Ends a tar whose headers are endless: tarfile would hold them in memory."""

    def __init__(self, stream: io.BufferedReader[Any]) -> None:
        self._stream = stream
        self.allowed: int | None = _MAX_HEADER

    def read(self, size: int) -> bytes:
        if self.allowed is not None:
            self.allowed -= size
            if self.allowed < 0:
                raise _Damaged("its headers are too long")
        return self._stream.read1(size)


def _zstd(file: IO[bytes]) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "zstd": _zstd,
    "xz": lzma.LZMAFile,
    "bzip2": bz2.BZ2File,
    "tar": lambda file: file,
}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
