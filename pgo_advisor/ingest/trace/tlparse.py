"""Runs tlparse, the reader of TORCH_TRACE logs by PyTorch's developers, as a subprocess."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from threading import TIMEOUT_MAX, Timer
from typing import BinaryIO

from packaging.version import Version

from pgo_advisor.dynamo.sources import whole_number
from pgo_advisor.errors import TlparseError

OLDEST = Version("0.3.45")
"""The first release that writes raw.jsonl."""

_running: set[subprocess.Popen[bytes]] = set()

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
        answer = subprocess.run(  # noqa: S603
            [name, "--version"], capture_output=True, text=True, timeout=30, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TlparseError(f"{name} could not be run ({_why(error)}); {_INSTALL}") from error
    match = re.search(r"\d{1,9}\.\d{1,9}\.\d{1,9}", answer.stdout)
    if answer.returncode or not match:
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
        with tempfile.TemporaryFile() as stderr:
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
            )
            _running.add(process)
            # wait(timeout) looks again after as long as a small log takes
            start = time.monotonic()
            timer = Timer(min(timeout, TIMEOUT_MAX), process.kill)
            timer.start()
            try:
                code = process.wait()
                late = time.monotonic() - start >= timeout
            finally:
                timer.cancel()
                process.kill()
                process.wait()
                _running.discard(process)
            messages = _ends(stderr)
    except OSError as error:
        raise TlparseError(f"tlparse could not be run: {_why(error)}") from error
    if late and code < 0:
        raise TlparseStopped(
            f"tlparse was stopped after {timeout:g} s on {log}; give --tlparse-timeout a larger number"
        )
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
        process.kill()


def _ends(file: BinaryIO, most: int = 65_536) -> str:
    """The first and last `most` bytes: of a damaged log tlparse can repeat every line."""
    length = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(most)
    file.seek(max(most, length - most))
    return (start + file.read()).decode("utf-8", errors="replace")


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
