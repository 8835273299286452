"""Runs tlparse, the reader of TORCH_TRACE logs by PyTorch's developers, as a subprocess."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import TIMEOUT_MAX, Thread, Timer
from typing import BinaryIO, Literal

from packaging.version import Version

from pgo_advisor.dynamo.sources import whole_number
from pgo_advisor.errors import TlparseError

OLDEST = Version("0.3.45")
"""The first release that writes raw.jsonl."""

_running: set[subprocess.Popen[bytes]] = set()

_VERSION_TIMEOUT = 10.0
_KEPT = 65_536
_INSTALL = "install it with: pip install 'tlparse>=0.3.45'"


class TlparseStopped(TlparseError):
    """tlparse was ended: its time was over, or it was killed."""


@cache
def find_tlparse() -> Path:
    """The tlparse of the environment that pgo-advisor runs in, else the first on PATH.

    Raises TlparseError if there is none, it cannot be run, or it is older than `OLDEST`.
    """
    name = shutil.which("tlparse", path=sysconfig.get_path("scripts")) or shutil.which("tlparse")
    if name is None:
        raise TlparseError(f"tlparse was not found; {_INSTALL}")
    try:
        code, answer = _run([name, "--version"], _VERSION_TIMEOUT, answers_on="stdout")
    except (OSError, TimeoutError) as error:
        raise TlparseError(f"{name} could not be run ({_why(error)}); {_INSTALL}") from error
    match = re.search(r"\d{1,9}\.\d{1,9}\.\d{1,9}", answer)
    if code or not match:
        raise TlparseError(f"{name} did not tell its version; {_INSTALL}")
    if Version(match[0]) < OLDEST:
        raise TlparseError(f"{name} is tlparse {match[0]}, too old to be read; {_INSTALL}")
    return Path(name)


def run_tlparse(log: Path, output: Path, *, timeout: float, plain: bool = True) -> Counter[str]:
    """Runs tlparse on one log into `output`, which must not exist; how many of what it said was lost.

    `timeout` is in seconds; `plain` leaves out highlighting, which takes as long as the rest. Raises
    TlparseError if tlparse fails or writes no raw.jsonl, TlparseStopped if it is still running then.
    """
    command: list[str | Path] = [find_tlparse(), log, "-o", output, "--overwrite", "--no-browser"]
    if plain:
        command.append("-p")
    try:
        code, messages = _run(command, timeout, answers_on="stderr")
    except TimeoutError as error:
        raise TlparseStopped(
            f"tlparse was stopped after {timeout:g} s on {log}; give --tlparse-timeout a larger number"
        ) from error
    except OSError as error:
        raise TlparseError(f"tlparse could not be run: {_why(error)}") from error
    if code < 0:
        raise TlparseStopped(f"tlparse was killed on {log} (signal {-code}); too little memory?")
    if code:
        raise TlparseError(f"tlparse failed on {log}: {_first_error(messages)}")
    if not (output / "raw.jsonl").is_file():
        raise TlparseError(f"tlparse wrote no raw.jsonl for {log}; {_INSTALL}")
    return _lost(messages)


def stop_all() -> None:
    """Ends every tlparse that is running in another thread; its `run_tlparse` raises TlparseError."""
    for process in list(_running):
        _end(process)


def _run(
    command: Sequence[str | Path], timeout: float, *, answers_on: Literal["stdout", "stderr"]
) -> tuple[int, str]:
    """Runs a command, and ends all that it started: its code, and the ends of what it wrote there.

    Raises OSError if it cannot be run, and TimeoutError.
    """
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    streams[answers_on] = subprocess.PIPE
    process = subprocess.Popen(command, bufsize=0, start_new_session=True, **streams)  # type: ignore[call-overload]  # noqa: S603
    _running.add(process)
    said = _Said(getattr(process, answers_on))
    # wait(timeout) looks again after as long as a small log takes
    start = time.monotonic()
    timer = Timer(min(timeout, TIMEOUT_MAX), _end, [process])
    timer.start()
    try:
        code = process.wait()
    finally:
        timer.cancel()
        _end(process)
        process.wait()
        _running.discard(process)
    if code < 0 and time.monotonic() - start >= timeout:
        raise TimeoutError(f"stopped after {timeout:g} s")
    return code, said.text()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends it and its descendants, even if it has ended itself."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except OSError:
        pass


class _Said(Thread):
    """Reads a pipe to its end; keeps the first and last 64 KiB, for tlparse can repeat a damaged log."""

    def __init__(self, pipe: BinaryIO) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._first = self._last = b""
        self.start()

    def run(self) -> None:
        with self._pipe:
            while piece := self._pipe.read(_KEPT):
                room = _KEPT - len(self._first)
                self._first += piece[:room]
                self._last = (self._last + piece[room:])[-_KEPT:]

    def text(self) -> str:
        # what left the process group may hold the pipe open
        self.join(1)
        return (self._first + self._last).decode("utf-8", errors="replace")


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _first_error(messages: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Stats", "Detected rank", "Unknown"))]
    return (told or ["it said nothing"])[0][:300]


def _lost(messages: str) -> Counter[str]:
    """What the line `Stats { ok: 142, fail_json: 1 }` counts as not read."""
    lost: Counter[str] = Counter()
    stats = messages.partition("Stats {")[2].partition("}")[0]
    counts = dict(part.strip().partition(": ")[::2] for part in stats.split(","))
    for name, meaning in {
        "fail_glog": "lines are no records",
        "fail_json": "records are no JSON",
        "fail_payload_md5": "payloads do not match their checksum",
        "fail_json_serialization": "records could not be passed on",
        "fail_parser": "records could not be parsed",
        "fail_dynamo_guards_json": "guard lists are no JSON",
        "other_rank": "records are of another rank",
        "fail_key_conflict": "records have a key of tlparse's own",
    }.items():
        lost[meaning] += whole_number(counts.get(name, "")) or 0
    return +lost
