"""An attack: hostile files, a command that reads them, and what has to hold."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"
MAX_CPU_SECONDS = 5
MAX_BYTES = 500 << 20
MAX_SECONDS = 60
"""On the clock, which other programs slow down."""
USAGE, INPUT, TLPARSE = 2, 3, 4
_LAUNCHER = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
pid = os.fork()
if not pid:
    os.execvp("bash", ["bash", "-c", sys.argv[2]])
_, status, used = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss, file=file)
"""
"""Starts the command from a small process: Linux counts the memory of before `exec`, too."""


@dataclass(frozen=True)
class Attack:
    """`prepare` makes hostile files in an empty directory, in which bash runs `command`.

    `codes` are the exit codes that may come of it; `makes` names the files that it may leave.
    """

    name: str
    prepare: Callable[[Path], object]
    command: str = "pgo-advisor analyze attack"
    codes: frozenset[int] = frozenset({0, USAGE, INPUT, TLPARSE})
    makes: frozenset[str] = frozenset()


def recording(name: str = "s01_batch_dim") -> bytes:
    """A trace of a real program."""
    return gzip.decompress((FIXTURES / "traces" / "2.13.0" / f"{name}.log.gz").read_bytes())


def writes(content: bytes | Callable[[], bytes], name: str = "attack") -> Callable[[Path], object]:
    return lambda place: (place / name).write_bytes(content() if callable(content) else content)


def failure(attack: Attack) -> str | None:
    """Runs an attack; what did not hold."""
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        box = Path(name)
        place, temporary = box / "place", box / "tmp"
        place.mkdir()
        temporary.mkdir()
        attack.prepare(place)
        before = {path.relative_to(box) for path in box.rglob("*")}
        with (box / "out").open("wb") as out, (box / "err").open("wb") as err:
            code, seconds, memory = _run(
                attack.command, place, temporary, out.fileno(), err.fileno()
            )
        said = (box / "out").read_bytes()[: 4 << 20].decode(errors="replace")
        told = (box / "err").read_bytes()[: 4 << 20].decode(errors="replace")
        left = {path.relative_to(box) for path in box.rglob("*")} - before
        left -= {
            Path("out"),
            Path("err"),
            Path("used"),
            *(Path("place", made) for made in attack.makes),
        }
        for claim, holds in (
            (f"it takes more than {MAX_SECONDS} s", code is not None),
            (f"exit code {code}: {told[-300:]}", code in attack.codes or code is None),
            (f"{seconds:.1f} s of processor time", seconds <= MAX_CPU_SECONDS),
            (f"{memory >> 20} MiB of memory", memory <= MAX_BYTES),
            ("a traceback", "Traceback" not in told),
            (f"not one sentence: {told[:300]!r}", code not in (INPUT, TLPARSE) or _one(told)),
            (f"control characters: {_acting(said + told)}", not _acting(said + told)),
            (f"it leaves {sorted(map(str, left))[:5]}", not left),
            ("processes are left", not _end_processes(box)),
        ):
            if not holds:
                return claim
    return None


def _one(told: str) -> bool:
    return told.startswith("pgo-advisor: ") and told.count("\n") == 1


def _acting(text: str) -> str:
    return ascii("".join(sorted({c for c in text if c not in "\n\t" and not c.isprintable()})))[
        1:-1
    ]


def _run(
    command: str, place: Path, temporary: Path, out: int, err: int
) -> tuple[int | None, float, int]:
    """The exit code, None if it did not end; seconds of processor time; bytes of memory at most."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(temporary),
        "ATTACK": str(place.parent),
        "RECORDING": str(FIXTURES / "traces" / "2.13.0" / "s01_batch_dim.log.gz"),
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(place.parent / "used"), command],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )
    try:
        process.wait(MAX_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, 0.0, 0
    if process.returncode:
        return process.returncode, 0.0, 0
    code, seconds, kilobytes = (place.parent / "used").read_text().split()
    return int(code), float(seconds), int(kilobytes) << 10


def _end_processes(box: Path) -> int:
    """Ends what an attack left running; how many there were."""
    mark = f"ATTACK={box}".encode()
    number = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
                number += 1
        except OSError:
            continue
    return number


def has(program: str) -> bool:
    return shutil.which(program) is not None
