"""Streams, outputs, options and directories that are sick."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from scripts.attack.base import INPUT, USAGE, Attack, recording

NOTHING = frozenset({0})
WRONG = frozenset({USAGE})
REFUSED = frozenset({INPUT})


def _gone(place: Path) -> None:
    _place(place)
    (place / "gone").mkdir()


def _place(place: Path) -> None:
    (place / "log").write_bytes(recording())
    (place / "loop").symlink_to("loop")
    (place / "full").symlink_to("/dev/full")
    (place / "dangling").symlink_to("nowhere/x")
    (place / "folder").mkdir()
    (place / "mine").write_text("mine")
    os.mkfifo(place / "pipe")


def streams() -> Iterator[Attack]:
    commands = [
        "env log",
        "analyze log",
        "snippet log",
        "patch log",
        "explain",
        "analyze log --json -",
    ]
    for command in commands:
        for streams, codes in (
            ("<&-", NOTHING),
            ("2>&-", NOTHING),
            (">&-", NOTHING | WRONG),
            (">/dev/full", NOTHING | WRONG),
            ("| true", NOTHING),
            ("<&- >&- 2>&-", NOTHING | WRONG),
            ("2>/dev/full", NOTHING | WRONG),
        ):
            yield Attack(f"{command} {streams}", _place, f"pgo-advisor {command} {streams}", codes)
    for option in ("html", "markdown", "json"):
        for output in (
            "loop",
            "pipe",
            "full",
            "folder",
            "mine",
            "log",
            "dangling",
            "x" * 300,
            "a/b",
        ):
            command = f"pgo-advisor analyze -q log --{option} {output}"
            yield Attack(f"--{option} {output[:9]}", _place, command, WRONG)
            if output not in ("mine", "dangling"):
                yield Attack(f"--{option} {output[:9]} --force", _place, f"{command} -f", WRONG)
    for option in ("parquet", "full"):
        for output in ("loop", "pipe", "folder/../mine", "x" * 300):
            command = f"pgo-advisor analyze -q log --{option} {output}"
            yield Attack(f"--{option} {output[:9]}", _place, command, WRONG)
    for command in ("env ../log", "analyze ../log", "patch ../log", "analyze -q ../log --json a"):
        yield Attack(
            f"no working directory: {command}",
            _gone,
            f"cd gone; rmdir ../gone; pgo-advisor {command.replace('../log', '$ATTACK/place/log')};"
            " code=$?; mkdir $ATTACK/place/gone; exit $code",
        )
    for blocks in (0, 1, 8, 64):
        command = f"ulimit -f {blocks}; pgo-advisor analyze -q log --json a.json --html a.html"
        codes = NOTHING | WRONG | REFUSED | {4}
        made = frozenset({"a.json", "a.html"})
        yield Attack(f"a disk with {blocks} KiB", _place, command, codes, made)


def options() -> Iterator[Attack]:
    numbers = ["nan", "inf", "-inf", "1e300", "1e308", "1e-300", "0", "-1", "", "x", "9" * 400]
    for option in ("--unpack-limit", "--tlparse-timeout"):
        for value in numbers:
            allowed = NOTHING | REFUSED | {4} if value == "1e-300" else WRONG
            command = f"pgo-advisor env {option} '{value}' log"
            yield Attack(f"{option} {value[:9]}", _place, command, allowed | WRONG)
    versions = [
        "",
        "x",
        "2",
        "2." + "9" * 5000,
        "-1",
        "2.13; touch pwned",
        "$(touch pwned)",
        "2.13\n",
    ]
    for value in versions:
        yield Attack(
            f"--torch-version {value[:9]!a}",
            _place,
            f"pgo-advisor env --torch-version '{value}' log",
            NOTHING | WRONG,
        )
    for job in ("", "..", "/", "x\x1b]0;x\x07"):
        yield Attack(f"--job {job!a}", _place, f"pgo-advisor env --job $'{job}' log")
    for given in (
        "",
        ".",
        "..",
        "/dev/null",
        "/dev/zero",
        "/proc/self/mem",
        "x" * 5000,
        "http://[x/",
    ):
        if given != "..":
            yield Attack(
                f"an input {given[:12]!r}", lambda place: None, f"pgo-advisor env '{given}'"
            )
    for url in (
        "nonsense://x",
        "file:///dev/zero",
        "data:text/plain,x",
        "memory://",
        "zip://x::y://z",
    ):
        yield Attack(f"a URL {url}", lambda place: None, f"pgo-advisor env '{url}'")


def _crowd(place: Path) -> None:
    (place / "attack").mkdir()
    first = place / "attack" / "0"
    first.write_bytes(b"x")
    for number in range(1, 120_000):
        if number % 30_000 == 0:
            first = place / "attack" / f"n{number}"
            first.write_bytes(b"x")
        os.link(first, place / "attack" / str(number))


def _deep(place: Path) -> None:
    (place / "attack" / "/".join("d" * 500)).mkdir(parents=True)


def _special(place: Path) -> None:
    (place / "attack").mkdir()
    os.mkfifo(place / "attack" / "dedicated_log_torch_trace_x.log")
    (place / "attack" / "raw.jsonl").symlink_to("/dev/zero")
    (place / "attack" / "self").symlink_to(".")
    (place / "attack" / "zero.log").symlink_to("/dev/zero")
    (place / "attack" / "log").write_bytes(recording())


def _names(place: Path) -> None:
    (place / "attack").mkdir()
    for name in (
        "\x1b]0;x\x07",
        "\u202e",
        "a\nb",
        "$(touch pwned)",
        "-rf",
        "%s%n",
        b"\xff\xfe",
    ):
        path = os.path.join(os.fsencode(place / "attack"), os.fsencode(name))
        with open(path, "wb") as file:
            file.write(recording() + os.fsencode(name))


def _hole(place: Path) -> None:
    with (place / "attack").open("wb") as file:
        file.write(recording()[:1000])
        file.truncate(6 << 30)


def _beside_more(place: Path) -> None:
    (place / "more").write_bytes(recording())
    (place / "attack").write_bytes(b"")


def directories() -> Iterator[Attack]:
    for what, prepare in {
        "120,000 files": _crowd,
        "500 levels": _deep,
        "devices, pipes and circles": _special,
        "hostile names": _names,
    }.items():
        yield Attack(what, prepare)
    yield Attack("a file with a hole of 6 GiB", _hole)
    changes = {
        "grows": "while true; do cat $ATTACK/place/more >> attack; done",
        "shrinks": "while true; do : > attack; cat more > attack; done",
        "comes and goes": "while true; do rm -f attack; cp more attack; done",
        "becomes a pipe": "while true; do rm -f attack; mkfifo attack; rm -f attack; cp more attack; done",
    }
    for what, change in changes.items():
        yield Attack(
            f"a file that {what}",
            _beside_more,
            f"({change}) 2>/dev/null & pgo-advisor analyze attack; code=$?; kill $!; wait 2>/dev/null;"
            " rm -f attack; touch attack; exit $code",
        )
