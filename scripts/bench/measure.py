"""Runs a command and measures it: wall time, and the memory of all of its processes at one time."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

_EVERY = 0.02


@dataclass(frozen=True)
class Measure:
    """Seconds and bytes; `own` are the seconds in which no tlparse ran."""

    wall: float
    peak: float
    own: float
    exit_code: int
    output: str


def measure(command: Sequence[str | Path]) -> Measure:
    """One run. Memory is the largest sum of resident sizes that was seen, looked at every 20 ms."""
    peak = own = 0.0
    start = last = time.perf_counter()
    with subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        output: list[str] = []
        reader = threading.Thread(
            target=lambda: output.append(process.stdout.read() if process.stdout else ""),
            daemon=True,
        )
        reader.start()
        while process.poll() is None:
            size, runs = _sum(process.pid)
            now = time.perf_counter()
            peak = max(peak, size)
            own += (now - last) * (not runs)
            last = now
            time.sleep(_EVERY)
        wall = time.perf_counter() - start
        reader.join()
    return Measure(wall, peak, own, process.returncode, "".join(output))


def _sum(process: int) -> tuple[float, bool]:
    size, runs = 0.0, False
    try:
        root = psutil.Process(process)
        for one in (root, *root.children(recursive=True)):
            try:
                size += one.memory_info().rss
                runs = runs or one.name() == "tlparse"
            except psutil.Error:
                continue
    except psutil.Error:
        pass
    return size, runs


def middle(measures: Sequence[Measure]) -> Measure:
    """The medians of several runs, each figure for itself. Raises RuntimeError if one failed."""
    if failed := [run for run in measures if run.exit_code]:
        raise RuntimeError(failed[0].output[-2000:])
    return Measure(
        median(run.wall for run in measures),
        median(run.peak for run in measures),
        median(run.own for run in measures),
        0,
        measures[-1].output,
    )
