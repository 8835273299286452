"""Archives that are bombs, damaged, or lead elsewhere."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial

from scripts.attack.base import INPUT, Attack, recording, writes

MANY = 200_000
REFUSED = frozenset({INPUT})
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, 1),
    "bzip2": lambda content: bz2.compress(content, 1),
    "xz": lambda content: lzma.compress(content, preset=0),
}


def tar(members: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    for name, content in members:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        packed.write(info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512))
    return packed.getvalue() + bytes(1024)


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def attacks() -> Iterator[Attack]:
    yield from _bombs()
    yield from _headers()
    yield from _names()
    yield from _damage()


def _bombs() -> Iterator[Attack]:
    for name, pack in PACK.items():
        yield Attack(
            f"{name}: zeros", writes(partial(_packed, pack, bytes(200 << 20))), codes=REFUSED
        )
        empties = f"{name}: empty members"
        yield Attack(empties, writes(partial(_empties, pack)), codes=REFUSED)
        yield Attack(f"{name}: nested", writes(partial(_nested, pack)), codes=REFUSED)
        packed_tar = f"{name}: a tar of empty files"
        yield Attack(packed_tar, writes(partial(_packed_tar, pack)), codes=REFUSED)
    for number in (1, 40, 400):
        yield Attack(f"a zip of {number} bombs", writes(partial(_zip_of_bombs, number)))
    yield Attack("a zip whose members overlap", writes(_overlapping), codes=REFUSED)
    directories = ((f"{number}/", b"") for number in range(MANY))
    yield Attack("a tar of directories", writes(lambda: tar(directories)), codes=REFUSED)
    one_byte = [(str(number), b"x") for number in range(30_000)]
    yield Attack("a tar of small files", writes(lambda: tar(one_byte)), codes=REFUSED)


def _packed(pack: Callable[[bytes], bytes], content: bytes) -> bytes:
    return pack(content)


def _empties(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(b"") * MANY


def _packed_tar(pack: Callable[[bytes], bytes]) -> bytes:
    return pack(tar((f"{number}", b"") for number in range(MANY)))


def _nested(pack: Callable[[bytes], bytes]) -> bytes:
    content = b"nothing"
    for _ in range(30):
        content = pack(content)
    return content


def _zip_of_bombs(number: int) -> bytes:
    bomb = gzip.compress(bytes(100 << 20))
    return zipped([(f"{n}.gz", bomb) for n in range(number)])


def _overlapping() -> bytes:
    content = bytearray(zipped([(f"{n:04}", bytes(1 << 20)) for n in range(400)]))
    at = content.index(b"PK\1\2")
    while (at := content.find(b"PK\1\2", at)) >= 0:
        content[at + 42 : at + 46] = bytes(4)
        at += 4
    return bytes(content)


def _headers() -> Iterator[Attack]:
    name = b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * (100 << 20) + b"\0"
    yield Attack("gzip: a long name", writes(lambda: name + gzip.compress(b"x")[10:]))
    comment = b"\x1f\x8b\x08\x10" + bytes(6) + b"a" * (100 << 20)
    yield Attack("gzip: a comment without end", writes(comment), codes=REFUSED)
    for number in (1_000, 100_000, 3_000_000):
        for way in ("plain", "comment", "zip64"):
            yield Attack(
                f"zip: {number} entries, {way}",
                writes(partial(_zip_directory, number, way)),
                codes=REFUSED,
            )
    for field in (
        "path",
        "size",
        "GNU.sparse.map",
        "GNU.sparse.major",
        "GNU.sparse.size",
        "hdrcharset",
    ):
        for value in ("", "x", "-1", "1,x", "9" * 30, "1" * 500_000):
            yield Attack(f"tar: pax {field}={value[:8]}", writes(partial(_pax, field, value)))
    for kind in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
        for body in (b"1" * (1 << 20), b"1" * (8 << 20), b"5 a=\n" * 200_000, b"0 a=\n", b""):
            content = _header(kind, body) * 3 + tar([("log", recording())])
            yield Attack(f"tar: header {kind!r} of {len(body)} bytes {body[:3]!r}", writes(content))
    for digit in (b"\xff", b"\x80", b" ", b"9", b"-"):
        sized = bytearray(tar([("log", recording())]))
        sized[124:136] = digit * 12
        yield Attack(f"tar: a size of {digit!r}", writes(bytes(sized)))


def _zip_directory(number: int, way: str) -> bytes:
    header, entry = b"PK\3\4" + bytes(26), b"PK\1\2" + bytes(42)
    content = header + entry * number
    size, at, count = len(entry) * number, len(header), min(number, 0xFFFF)
    if way == "zip64":
        content += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, number, number, size, at)
        content += struct.pack("<4sLQL", b"PK\6\7", 0, at + size, 1)
        size = at = 0xFFFFFFFF
    comment = b"PK\5\6" + bytes(4) if way == "comment" else b""
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, at, len(comment))
    return content + end + comment


def _header(kind: bytes, body: bytes) -> bytes:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, len(body)
    return info.tobuf() + body + bytes(-len(body) % 512)


def _pax(field: str, value: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("log")
        info.pax_headers = {field: value}
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    return packed.getvalue()


def _names() -> Iterator[Attack]:
    names = [
        "../pwned",
        "a/../../../pwned",
        "/tmp/pwned",
        "..\\pwned",
        "C:\\pwned",
        "",
        ".",
        "a/..",
    ]
    names += ["a\nb", "a\x1b]0;x\x07", "\u202eb", "x" * 300, "/".join("d" * 200), "a/" * 2000 + "b"]
    for name in names:
        for kind, pack in (("tar", tar), ("zip", zipped)):
            if kind == "zip" or len(name.encode()) <= 100:
                content = pack([(name, b"x"), ("log", recording())])
                yield Attack(f"{kind}: the name {name[:20]!a}", writes(content))
    for type_ in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"S"):
        for target in ("/etc/passwd", "..", "log"):
            yield Attack(
                f"tar: a link {type_!r} to {target}", writes(partial(_link, type_, target))
            )


def _link(kind: bytes, target: str) -> bytes:
    info = tarfile.TarInfo("way")
    info.type, info.linkname = kind, target
    return info.tobuf() + tar([("way/pwned", b"x"), ("log", recording())])


def _damage() -> Iterator[Attack]:
    log = recording()
    packed = {name: pack(log) for name, pack in PACK.items()}
    packed |= {"tar": tar([("a/log", log)]), "zip": zipped([("a/log", log)])}
    for name, content in packed.items():
        for part in (1, 5, 9):
            yield Attack(
                f"{name}: cut after {part}0 %", writes(content[: len(content) * part // 10])
            )
        yield Attack(f"{name}: followed by junk", writes(content + b"junk" * 1000))
        for place in (8, 30, len(content) // 2):
            flipped = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
            yield Attack(f"{name}: byte {place} flipped", writes(flipped))
