"""Traces whose records disagree, are damaged, or name what they should not."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scripts.attack.base import Attack, recording, writes

VALUES: dict[str, Any] = {
    "null": None,
    "a list": [],
    "an object": {},
    "-1": -1,
    "a huge number": 1 << 64,
    "a text": "x",
    "a long list": [1] * 1000,
    "deep": json.loads("[" * 200 + "]" * 200),
}


def _records() -> dict[str, tuple[int, dict[str, Any], str]]:
    """The first record of each kind: where it is in the log, its JSON, and what stands before it."""
    found: dict[str, tuple[int, dict[str, Any], str]] = {}
    for number, line in enumerate(recording().decode().split("\n")):
        if match := re.fullmatch(r"(V\d{4} .*?\] )(\{.*\})", line):
            data = json.loads(match[2])
            found.setdefault(next(iter(data)), (number, data, match[1]))
    return found


def _with(number: int, line: str) -> bytes:
    lines = recording().decode().split("\n")
    lines[number] = line
    return "\n".join(lines).encode()


def structures() -> Iterator[Attack]:
    for kind, (number, data, start) in _records().items():
        for what, value in VALUES.items():
            content = _with(number, start + json.dumps({**data, kind: value}))
            yield Attack(f"{kind} is {what}", writes(content))
        if isinstance(data[kind], dict):
            for field in list(data[kind])[:12]:
                for what, value in {**VALUES, "twice as long": [data[kind][field]] * 2}.items():
                    changed = {**data, kind: {**data[kind], field: value}}
                    content = _with(number, start + json.dumps(changed))
                    if what in ("null", "a huge number", "a long list", "twice as long"):
                        yield Attack(f"{kind}.{field} is {what}", writes(content))


def damage() -> Iterator[Attack]:
    log = recording("s02_batch_and_seq")
    draw = random.Random(0)
    for number in range(12):
        content = bytearray(log)
        for _ in range(20):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        yield Attack(f"flipped bits, {number}", writes(bytes(content)))
    for number in range(6):
        lines = log.splitlines(keepends=True)
        draw.shuffle(lines)
        yield Attack(f"shuffled lines, {number}", writes(b"".join(lines)))
        yield Attack(f"cut, {number}", writes(log[: draw.randrange(len(log))]))


def directories() -> Iterator[Attack]:
    def written(names: list[str], prepare: Callable[[Path], object]) -> Callable[[Path], None]:
        def make(place: Path) -> None:
            attack = place / "attack"
            (attack / "-_0_0_0").mkdir(parents=True)
            head = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "rank": 0}
            records: list[dict[str, object]] = [{"string_table": []}]
            records += [
                {
                    "compilation_metrics": {},
                    "recompile_reasons": {},
                    "payload_filename": name,
                    **head,
                }
                for name in names
            ]
            (attack / "raw.jsonl").write_text("\n".join(map(json.dumps, records)))
            prepare(attack / "-_0_0_0")

        return make

    def big(place: Path) -> None:
        (place / "x.json").write_bytes(b"x" * (1 << 20))

    def hole(place: Path) -> None:
        with (place / "x.json").open("wb") as file:
            file.truncate(6 << 30)

    payload = "-_0_0_0/x.json"
    for what, names, prepare in (
        ("a payload that is a pipe", [payload], lambda place: os.mkfifo(place / "x.json")),
        ("a payload named 3,000 times", [payload] * 3000, big),
        ("a payload with a hole", [payload], hole),
        (
            "a link to /dev/zero",
            [payload],
            lambda place: (place / "x.json").symlink_to("/dev/zero"),
        ),
        ("a payload that is a directory", [payload], lambda place: (place / "x.json").mkdir()),
        ("a payload outside", ["../../../../etc/passwd"], big),
        ("a payload with a long name", ["x" * 5000], big),
        ("a payload with NUL", ["x\0"], big),
    ):
        yield Attack(what, written(names, prepare))


def _hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 << 30)


SOURCES = {
    "/dev/zero": None,
    "/dev/random": None,
    "/proc/self/mem": None,
    "/etc/passwd": None,
    "a pipe": lambda path: os.mkfifo(path),
    "a circle": lambda path: path.symlink_to(path),
    "a directory": lambda path: path.mkdir(),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 100),
    "rot13": lambda path: path.write_text("# coding: rot13\nx\n"),
    "zlib": lambda path: path.write_text("# coding: zlib\nx\n"),
    "unknown coding": lambda path: path.write_text("# coding: nonsense\nx\n"),
    "deep": lambda path: path.write_text("(" * 5000 + ")" * 5000),
    "operators": lambda path: path.write_text("x = " + "-" * 50_000 + "1\n"),
    "a long line": lambda path: path.write_text("x = [" + "1, " * 500_000 + "]\n"),
    "huge": lambda path: _hole(path),
}


def sources() -> Iterator[Attack]:
    for what, make in SOURCES.items():
        for command in ("patch attack", "analyze --patch attack", "snippet attack"):

            def prepare(place: Path, what: str = what, make: Any = make) -> None:
                path = Path(what) if make is None else place / "program.py"
                if make:
                    make(path)
                name = json.dumps(str(path))[1:-1].encode()
                (place / "attack").write_bytes(
                    re.sub(rb'[^"\s]*s01_batch_dim\.py', lambda _: name, recording())
                )

            yield Attack(f"{what}: {command}", prepare, f"pgo-advisor {command}")
