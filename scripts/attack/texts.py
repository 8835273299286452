"""Recorded texts that act in a terminal or a shell, or keep patterns busy."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scripts.attack.base import FIXTURES, Attack, has, recording, writes

CHARACTERS = {
    "a colour": "\x1b[31m",
    "a title": "\x1b]0;x\x07",
    "interrupt": "\x03",
    "backspace": "\x08\x08",
    "carriage return": "\rx",
    "right to left": "\u202e",
    "isolate": "\u2066",
    "zero width": "\u200b",
    "line separator": "\u2028",
    "a tag": "\U000e0041",
    "C1 control": "\x9b31m",
    "newline": "\nexport PATH=",
}
NAMES = {
    "command": "$(touch pwned)",
    "backquotes": "`touch pwned`",
    "end of quotes": "'; touch pwned; '",
    "end of double quotes": '"; touch pwned; "',
    "fish": "(touch pwned)",
    "newline": "\ntouch pwned\n",
    "curly quotes": "\u2019; touch pwned; \u2019",
    "backslash": "\\'; touch pwned #",
    "variable": "${PATH}%PATH%$env:PATH",
    "history": "!!;!touch",
}


def _renamed(name: str) -> bytes:
    return recording().replace(b"L['x']", f"L['{json.dumps(name)[1:-1]}']".encode())


def _listed(name: str) -> bytes:
    listed = json.dumps(json.dumps(f"L['{name}']")[1:-1])[1:-1]
    empty = b'\\"dynamic_sources\\": \\"'
    return recording().replace(empty, empty + listed.encode())


def terminal() -> Iterator[Attack]:
    for what, text in CHARACTERS.items():
        file = recording().replace(b"s01_batch_dim.py", json.dumps(text)[1:-1].encode() + b".py")
        reason = recording().replace(b"size mismatch", json.dumps(text)[1:-1].encode())
        for where, content in {
            "source": _renamed(text),
            "list in force": _listed(text),
            "file": file,
            "reason": reason,
            "line of the log": text.encode() + b"\n" + recording(),
        }.items():
            yield Attack(f"{what} in a {where}", writes(content))
            if where in ("source", "list in force"):
                for fmt in ("shell", "value", "fish", "dotenv", "yaml", "json"):
                    command = f"pgo-advisor env attack --format {fmt}"
                    yield Attack(f"{what} in a {where}, {fmt}", writes(content), command)
    escaped = (FIXTURES / "attacks" / "esc.log.gz").read_bytes()
    for command in ("analyze", "env", "snippet", "patch"):
        yield Attack(f"found: {command}", writes(escaped), f"pgo-advisor {command} attack")


def shells() -> Iterator[Attack]:
    ways = {
        "sh": "sh -c 'eval \"$(pgo-advisor env attack)\"'",
        "bash": 'eval "$(pgo-advisor env attack)"',
        "fish": "fish -c 'pgo-advisor env attack --format fish | source'",
        "pwsh": "pwsh -NoProfile -c 'pgo-advisor env attack --format powershell | Out-String | iex'",
        "python": "pgo-advisor env attack --format python > ../tmp/x.py && python ../tmp/x.py;"
        " rm ../tmp/x.py",
        "snippet": "pgo-advisor snippet attack > ../tmp/x.py && python -m py_compile ../tmp/x.py;"
        " rm -r ../tmp/x.py ../tmp/__pycache__",
    }
    for way, command in ways.items():
        if has(way) or way == "snippet":
            for what, text in NAMES.items():
                for where, content in (("a source", _renamed(text)), ("a list", _listed(text))):
                    yield Attack(
                        f"{way}: {what} in {where}", writes(content), f"{command} 2>/dev/null; true"
                    )


FRAGMENTS = (
    *(
        "[",
        "(",
        "'",
        "1, ",
        "a ",
        "<class '",
        "': ",
        "s0 ",
        "x[0] ",
        "((",
        "==",
        "L['x']",
        "size=[",
    ),
    *("tensor 'x' ", "# user code ", "\\u0020", "1.", ".py:1] "),
)


def patterns() -> Iterator[Attack]:
    log, profile = (
        recording(),
        b"hash(53dcf75c)/app/f.py:2:f:\n  L['x']: tensor size=[?] stride=[1]\n",
    )
    console = sorted((FIXTURES / "console").rglob("*.txt"))[0].read_bytes()
    for fragment in FRAGMENTS:
        long = fragment.encode() * (100_000 // len(fragment))
        for where, content in {
            "a reason": log.replace(b"size mismatch", long.replace(b"'", b"\\u0027"), 1),
            "a guard": log.replace(b"TENSOR_MATCH: ", b"TENSOR_MATCH: " + long),
            "a graph": log.replace(b"def forward(", b"def forward(" + long),
            "a profile": profile + b"  L['x']: " + long + b"\n",
            "console text": console.replace(b"expected", long, 1) + b"\n" + long,
        }.items():
            if content not in (log, console):
                yield Attack(f"100 kB of {fragment!r} in {where}", writes(content))
