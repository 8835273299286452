"""PGO profiles: pickles that would run code or grow, mega-caches, texts."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from functools import partial

from scripts.attack.base import FIXTURES, INPUT, Attack, writes

REFUSED = frozenset({INPUT})
PGO = b"\x80\x04\x8c\x11torch._dynamo.pgo0"


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def name(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


def attacks() -> Iterator[Attack]:
    yield from _calls()
    yield from _growth()
    yield from _mega_caches()
    yield from _texts()


def _calls() -> Iterator[Attack]:
    for module, attribute in (
        ("os", "system"),
        ("builtins", "exec"),
        ("builtins", "getattr"),
        ("subprocess", "Popen"),
        ("torch._dynamo.pgo", "os.system"),
        ("torch._dynamo.pgo", "CodeId.__init__.__globals__"),
        ("collections", "_sys"),
        ("functools", "partial"),
    ):
        argument = text("touch pwned") + b"\x85"
        for way, call in (("R", b"R"), ("NEWOBJ", b"\x81"), ("BUILD", b"b")):
            content = PGO + name(module, attribute) + argument + call + b"."
            yield Attack(f"{module}.{attribute} by {way}", writes(content), codes=REFUSED)
    for instruction in (
        *(b"cos\nsystem\n(S'touch pwned'\ntR.", b"(S'touch pwned'\nios\nsystem\n.", b"\x82\x01."),
        *(b"Pid\n.", b"\x97.", b"]K\x01a.", b"\x8f(K\x01\x90.", b"K\x01K\x02K\x03\x92."),
    ):
        yield Attack(f"instructions {instruction[:12]!r}", writes(PGO + instruction), codes=REFUSED)


def _growth() -> Iterator[Attack]:
    rows = (FIXTURES / "attacks" / "c.pkl").read_bytes()
    yield Attack("nine million rows", writes(rows), codes=REFUSED)
    for what, piece in (("dicts", b"}"), ("marks", b"("), ("texts", text("x")), ("popped", b"}0")):
        for size in (1, 12, 60):
            content = partial(_repeated, piece, size << 20)
            yield Attack(f"{size} MiB of {what}", writes(content), codes=REFUSED)
    deep = PGO + b")" + b"\x85" * 1_000_000
    for end in (b".", b"}b.", b"K\x01R.", b")\x81.", b"}K\x01s."):
        yield Attack(f"a million tuples in each other, {end!r}", writes(deep + end), codes=REFUSED)
    for claim in (b"\x8d", b"\x95", b"\x8e"):
        long = PGO + claim + struct.pack("<Q", 1 << 62) + b"x."
        yield Attack(f"{claim!r} says it is long", writes(long), codes=REFUSED)
    yield Attack("a dict in itself", writes(PGO + b"}\x94\x8c\x01ah\x00s."), codes=REFUSED)
    yield Attack("a huge memo", writes(PGO + b"Nr\xff\xff\xff\xff0."), codes=REFUSED)


def _repeated(piece: bytes, size: int) -> bytes:
    return PGO + piece * (size // len(piece)) + b"."


def _mega_caches() -> Iterator[Attack]:
    def part(value: bytes) -> bytes:
        return struct.pack(">Q", len(value)) + value

    def cache(states: list[bytes], number: int | None = None) -> bytes:
        body = struct.pack(">Q", 1) + part(base64.b64encode(b"pgo"))
        body += struct.pack(">Q", len(states) if number is None else number)
        body += b"".join(part(b"a2V5") + part(state) for state in states)
        return zlib.crc32(body).to_bytes(4, "big") + body

    yield Attack("40 states of 10 MB", writes(lambda: cache([PGO + bytes(10 << 20)] * 40)))
    yield Attack("a million states", writes(lambda: cache([b""] * 1_000_000)))
    for number in (1 << 40, (1 << 64) - 1):
        yield Attack(f"it names {number} states", writes(cache([PGO + b"}."], number)))
    whole = cache([PGO + b"}."])
    for cut in range(13, len(whole), 8):
        yield Attack(f"a mega-cache cut at {cut}", writes(whole[:cut]))


def _texts() -> Iterator[Attack]:
    code = b"hash(53dcf75c)/app/f.py:2:f:\n"
    entry = b"  L['x']: tensor size=[?, 3] stride=[S(1), 1]\n"
    for what, content in {
        "a million entries": code + entry * 1_000_000,
        "a line of sizes": code + b"  L['x']: tensor size=[" + b"1, " * 200_000 + b"] stride=[1]\n",
        "sizes without end": code + entry + b"  L['x']" + b": tensor size=[" * 50_000 + b"\n",
        "colons": code + entry + b":" * 500_000 + b"\n",
        "numbers": code + entry + b"a:1:" * 100_000 + b"\n",
        "a huge size": code + b"  L['x']: tensor size=[" + b"9" * 10_000 + b"] stride=[1]\n",
        "a huge line": b"/app/f.py:" + b"9" * 10_000 + b":f:\n" + code + entry,
    }.items():
        yield Attack(f"text: {what}", writes(content))
