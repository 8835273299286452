"""Unified diffs in bytes, as `git apply` reads them (format: `git help diff`, "generating patch text")."""

from __future__ import annotations

import difflib

_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def unified(name: str, before: bytes, after: bytes) -> bytes:
    """The diff of a file; empty if nothing changes. Lines end at a line feed, as git has it."""
    if before == after:
        return b""
    old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        before.split(b"\n")[:-1] if before.endswith(b"\n") else _ended(before),
        after.split(b"\n")[:-1] if after.endswith(b"\n") else _ended(after),
        old + (b"\t" if b" " in old else b""),
        new + (b"\t" if b" " in new else b""),
        lineterm=b"",
    )
    out = [b"diff --git " + old + b" " + new]
    for line in lines:
        marker = line.endswith(_NO_END)
        out.append(line[: -len(_NO_END)] if marker else line)
        if marker:
            out.append(b"\\ No newline at end of file")
    return b"\n".join(out) + b"\n"


_NO_END = b"\n"
"""Ends the last line of a file that has no newline there: no other line holds a line feed."""


def _ended(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return [*lines[:-1], lines[-1] + _NO_END]


def _quoted(name: str) -> bytes:
    """The name as git writes it: with quotes, backslashes or control characters, in quotes with escapes."""
    raw = name.encode("utf-8", "surrogateescape")
    if not any(byte < 32 or byte in (34, 92, 127) for byte in raw):
        return raw
    parts = (
        f"\\{_ESCAPES[byte]}"
        if byte in _ESCAPES
        else chr(byte)
        if 32 <= byte < 127
        else f"\\{byte:03o}"
        for byte in raw
    )
    return f'"{"".join(parts)}"'.encode()
