"""Unpacks compressed files and archives into a temporary directory, within limits.

What is unpacked is hostile: names that lead out of the directory, links and devices are left out,
and `Limits` end a bomb early. Nothing of an archive but names and contents is used, so no mode,
owner or link of it reaches the disk.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import IO, Any

from pgo_advisor.errors import InputError
from pgo_advisor.ingest.limits import GIB, Limits
from pgo_advisor.ingest.locate.tar import NO_FILE, Damaged, Members, Stream, is_tar, tar_members

_PIECE = 1 << 14
_STEP = 1 << 13
_MAX_REASONS = 5
_MAX_XZ_MEMORY = 128 << 20
"""Bytes; `xz -9` takes 65 MiB."""
_DIRECTORY_ENTRY = 160
"""Bytes of a zip's directory for one member: 46 and the name."""
_SUFFIXES = {".gz", ".zst", ".zstd", ".xz", ".bz2", ".tgz", ".txz", ".tbz", ".tbz2", ".tzst"}


class _Unreadable(Exception):
    """One member is damaged; the others may be in order."""


def packing(head: bytes) -> str | None:
    """The name of the packing that a file's first bytes tell of; None if it is not packed."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    return "tar" if is_tar(head) else None


class Unpacker:
    """Unpacks into numbered directories below `directory`. `losses` says, in sentences, what was left out."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._bytes, self._members = limits.bytes, limits.members
        self._archives = 0
        self._done: dict[Path, Path] = {}
        self.losses: list[str] = []

    def unpack(self, path: Path, kind: str, shown: PurePath) -> Path:
        """The directory with the contents of the packed file at `path`, which is named as `shown`.

        Raises InputError if it exceeds the limits or nothing of it can be unpacked. What exceeds them
        gives half of what it used back: the good archive after the bomb is still read.
        """
        resolved = path.resolve()
        if resolved not in self._done:
            self._archives += 1
            target = self._directory / str(self._archives)
            meter = _Meter(shown, path.stat().st_size, self._limits, self._bytes, self._members)
            try:
                target.mkdir(parents=True)
                self._unpack(path, kind, shown, target, meter)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                meter.bytes //= 2
                meter.members //= 2
                raise
            finally:
                self._bytes -= meter.bytes
                self._members -= meter.members
            self._done[resolved] = target
            if path.is_relative_to(self._directory):
                path.unlink()
        return self._done[resolved]

    def _unpack(self, path: Path, kind: str, shown: PurePath, target: Path, meter: _Meter) -> None:
        left_out: Counter[str] = Counter()
        damage = None
        read = _zip_members if kind == "zip" else partial(_stream_members, kind, shown)
        try:
            with path.open("rb") as file:
                for name, content in read(file, meter):
                    if why := _write(name, content, target):
                        left_out[why] += 1
        except Damaged as error:
            damage = str(error)
        except OSError as error:
            raise InputError(f"{shown} cannot be unpacked: {error.strerror}") from error
        if damage and not any(target.iterdir()):
            raise InputError(f"{shown} cannot be unpacked ({kind}): {damage}")
        if damage:
            self.losses.append(f"{shown}: cut or damaged, what comes before is read: {damage}")
        told = left_out.most_common(_MAX_REASONS)
        if more := left_out.total() - sum(number for _, number in told):
            told.append(("other reasons", more))
        self.losses += (
            f"{shown}: {number} member{'s were' if number > 1 else ' was'} left out: {why}"
            for why, number in told
        )


class _Meter:
    """Counts what is read of one archive, and raises InputError where that is too much."""

    def __init__(
        self, shown: PurePath, packed: int, limits: Limits, room: int, places: int
    ) -> None:
        self._shown, self._limits = shown, limits
        self._most = min(room, max(64 << 20, limits.ratio * packed))
        self._too_many = f"{limits.ratio} times its size" if self._most < room else ""
        self.places = places
        self.bytes = self.members = 0

    def read(self, size: int) -> None:
        self.bytes += size
        if self.bytes > self._most:
            raise self._too_much(self._too_many or f"{self._limits.bytes / GIB:g} GiB")

    def member(self, number: int = 1) -> None:
        """Counts what has a header: a file, a directory, a link, a stream of gzip."""
        self.members += number
        if self.members > self.places:
            raise self._too_much(f"{self._limits.members:,} members")

    def _too_much(self, limit: str) -> InputError:
        return InputError(
            f"{self._shown} unpacks to more than {limit}; if it is no bomb, give --unpack-limit a larger "
            "number"
        )


_MAX_DEPTH = 100


def _write(name: str, content: Iterator[bytes] | str, target: Path) -> str | None:
    """Writes one member; why it was left out, if it was. Raises OSError for a disk that is full."""
    if isinstance(content, str):
        return content
    place = _place(name)
    if place is None:
        return "the name leads out of the archive, or is none"
    if place.count("/") >= _MAX_DEPTH:
        return f"it lies in more than {_MAX_DEPTH} directories"
    path = os.path.join(target, place)
    try:
        try:
            copy = open(path, "wb")  # noqa: SIM115
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path))
            copy = open(path, "wb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        return f"the name cannot be used here ({_said(error)})"
    with copy:
        try:
            for piece in content:
                copy.write(piece)
        except _Unreadable as error:
            return f"it cannot be read ({error})"
    return None


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _place(name: str) -> str | None:
    """Where a member goes, relative; None if its name is absolute, leads upwards, or names nothing."""
    if name.startswith(("/", "\\")) or "\0" in name or (os.name == "nt" and ":" in name):
        return None
    parts = [part for part in re.split(r"[\\/]", name) if part not in ("", ".")]
    if not parts or ".." in parts or re.fullmatch(r"[A-Za-z]:", parts[0]):
        return None
    return "/".join(parts)


class _ZipFile(io.BufferedReader):
    """Ends a zip with a huge directory: zipfile reads that at once, wherever it finds its size."""

    most = 0

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.most:
            raise zipfile.BadZipFile("its directory is too large")
        return super().read(size)


def _zip_members(file: IO[bytes], meter: _Meter) -> Members:
    guarded = _ZipFile(file)  # type: ignore[arg-type]
    guarded.most = meter.places * _DIRECTORY_ENTRY
    try:
        archive = zipfile.ZipFile(guarded)
    except Exception as error:  # it raises whatever its parsing meets
        raise Damaged(_said(error)) from error
    meter.member(len(archive.infolist()))
    for info in archive.infolist():
        if info.filename.endswith("/"):
            continue
        if stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG):
            yield info.filename, _pieces(_zip_member(archive, info), _Unreadable, meter)
        else:
            yield info.filename, NO_FILE


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as member:
        while piece := member.read1(_STEP):  # type: ignore[attr-defined]
            yield piece


def _stream_members(kind: str, shown: PurePath, file: IO[bytes], meter: _Meter) -> Members:
    """The one file that a compressed file holds, or the members of the tar in it."""
    stream = Stream(_pieces(_OPENERS[kind](file, meter), Damaged, meter))
    if is_tar(stream.peek(512)):
        yield from tar_members(stream, meter.member)
    else:
        stem = shown.stem if shown.suffix.lower() in _SUFFIXES else shown.name
        yield stem or "content", stream.rest()


def _pieces(
    source: Iterator[bytes], failure: type[Damaged | _Unreadable], meter: _Meter
) -> Iterator[bytes]:
    """The same, counted; what the library raises for damage, which can be anything, becomes `failure`."""
    while True:
        try:
            piece = next(source, None)
        except InputError:
            raise
        except Exception as error:
            raise failure(_said(error)) from error
        if piece is None:
            return
        meter.read(len(piece))
        yield piece


def _streams(new: Callable[[], Any], file: IO[bytes], meter: _Meter) -> Iterator[bytes]:
    """What compressed streams, one after the other, unpack to; NULs may come between and behind them.

    Small steps: what is read together with damage is lost.
    """
    data = file.read(_STEP)
    while data:
        meter.member()
        stream = new()
        while True:
            piece = stream.decompress(data, _PIECE)
            yield piece
            if stream.eof:
                break
            data = getattr(stream, "unconsumed_tail", b"")
            if not data and getattr(stream, "needs_input", True):
                data = file.read(_STEP)
                if not data and not piece:
                    raise EOFError("it ends early")
        data = stream.unused_data
        while not (data := data.lstrip(b"\0")) and (data := file.read(_STEP)):
            pass


def _zstd(file: IO[bytes], meter: _Meter) -> Iterator[bytes]:
    import pyarrow

    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")
    while piece := stream.read1(_STEP):
        yield piece


def _plain(file: IO[bytes], meter: _Meter) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


_OPENERS: dict[str, Callable[[IO[bytes], _Meter], Iterator[bytes]]] = {
    "gzip": partial(_streams, partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)),
    "zstd": _zstd,
    "xz": partial(_streams, partial(lzma.LZMADecompressor, memlimit=_MAX_XZ_MEMORY)),
    "bzip2": partial(_streams, bz2.BZ2Decompressor),
    "tar": _plain,
}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}
