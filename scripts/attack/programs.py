"""Programs under `record`, a tlparse that is sick, and sources that `patch --write` may not change."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from scripts.attack.base import TLPARSE, Attack, recording

OWN = frozenset({7})


def attacks() -> Iterator[Attack]:
    yield from _recorded()
    yield from _tlparse()
    yield from _written()


def _recorded() -> Iterator[Attack]:
    for what, program in {
        "a directory named as a log": "mkdir $TORCH_TRACE/a.log",
        "a dangling link named as a log": "ln -s nowhere $TORCH_TRACE/a.log",
        "a circle named as a log": "ln -s a.log $TORCH_TRACE/a.log",
        "a pipe named as a log": "mkfifo $TORCH_TRACE/a.log",
        "a log that comes and goes": "cd $TORCH_TRACE; for i in $(seq 200); do : > a.log; rm a.log; done",
        "no trace directory": "rm -rf $TORCH_TRACE",
        "a trace directory that may not be read": "chmod 0 $TORCH_TRACE",
        "the trace directory is a file": "rm -rf $TORCH_TRACE; touch $TORCH_TRACE",
        "closed streams": "exec <&- >&- 2>&-",
        "much output": "head -c 20000000 /dev/zero | tr '\\0' x",
    }.items():
        script = shlex.quote(f"{program}; exit 7")
        command = f"pgo-advisor record -q sh -c {script} >/dev/null"
        yield Attack(what, lambda place: None, command, OWN)
    # what was recorded and cannot be analysed is kept
    junk = shlex.quote("head -c 1000000 /dev/urandom > $TORCH_TRACE/a.log; exit 7")
    yield Attack(
        "a log of junk",
        lambda place: None,
        f"pgo-advisor record -q -o trace sh -c {junk}",
        OWN,
        frozenset({"trace", "trace/a.log"}),
    )
    for signal in ("INT", "TERM", "KILL", "SEGV"):
        number = {"INT": 2, "TERM": 15, "KILL": 9, "SEGV": 11}[signal]
        command = f"pgo-advisor record -q sh -c 'kill -{signal} $$'"
        yield Attack(f"it dies by {signal}", lambda place: None, command, frozenset({128 + number}))


def _tlparse() -> Iterator[Attack]:
    for what, script in {
        "a version without end": "yes",
        "a version that never comes": "sleep 1000",
        "a child that stays": "sleep 1000 & sleep 1000",
        "no version": "exit 0",
        "a failure": "echo '\x1b]0;x\x07' >&2; exit 1",
        "another program": "echo tlparse 99.0.0; exit 3",
        "death": "kill -9 $$",
    }.items():

        def prepare(place: Path, script: str = script) -> None:
            program = place / "tlparse"
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            (place / "attack").write_bytes(recording())

        command = "PATH=$PWD:$PATH pgo-advisor analyze attack --tlparse-timeout 2"
        yield Attack(f"tlparse: {what}", prepare, command, frozenset({0, TLPARSE}))


def _written() -> Iterator[Attack]:
    source = Path(__file__).parents[2] / "tests" / "scenarios" / "s01_batch_dim.py"

    def in_repository(path: str, then: Callable[[Path], object]) -> Callable[[Path], None]:
        def prepare(place: Path) -> None:
            subprocess.run(["git", "init", "-q", str(place)], check=True)
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read_bytes())
            then(file)
            name = str(file).encode()
            log = recording()
            start = log.rindex(b'"', 0, log.index(b"s01_batch_dim.py")) + 1
            old = log[start : log.index(b'"', start)]
            (place / "attack").write_bytes(log.replace(old, name))

        return prepare

    unchanged = "before=$(sha256sum {0}); pgo-advisor patch --write attack 2>/dev/null; "
    unchanged += 'test "$before" = "$(sha256sum {0})"'
    for what, path, then in (
        ("a file in .git", ".git/hooks/x.py", lambda file: None),
        ("an ignored file", "x.py", lambda file: (file.parent / ".gitignore").write_text("x.py\n")),
        ("a file that may not be written", "y.py", lambda file: file.chmod(0o444)),
    ):
        prepare = in_repository(path, then)
        yield Attack(f"patch --write: {what}", prepare, unchanged.format(path), frozenset({0}))
