"""Time and memory against the size of a log, the compiles, the inputs of a function, and the ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from scripts.bench.large_trace import RECORDED, Recording, write_large_trace, write_ranks
from scripts.bench.measure import Measure

EAGER = RECORDED.with_name("s01_batch_dim.log.gz")
SOURCES = """
import sys, torch
@torch.compile(backend="eager")
def f(xs): return [x + 1 for x in xs]
for size in (3, 5, 7):
    f([torch.ones(size + number % 2) for number in range(int(sys.argv[1]))])
"""


def growth(folder: Path, run: Callable[[Path, Path], Measure]) -> list[dict[str, Any]]:
    """One run for each size of each kind, as `{"kind", "number", "wall", "peak"}`; seconds and bytes."""
    rows = []
    for kind, number, path in _cases(folder / "growing"):
        place = folder / "grown"
        place.mkdir()
        measured = run(path, place)
        if measured.exit_code:
            raise RuntimeError(measured.output[-2000:])
        rows.append({"kind": kind, "number": number, "wall": measured.wall, "peak": measured.peak})
        click.echo(f"growth {rows[-1]}", err=True)
        shutil.rmtree(place)
        shutil.rmtree(folder / "growing")
    return rows


def _cases(folder: Path) -> Iterator[tuple[str, int, Path]]:
    for megabytes in (1, 8, 32, 128, 512):
        folder.mkdir()
        write_large_trace(folder / "trace.log", megabytes * 1_000_000)
        yield "MB of one log", megabytes, folder / "trace.log"
    for compiles in (10, 100, 1000, 5000, 20_000):
        folder.mkdir()
        recording = Recording(EAGER)
        with (folder / "trace.log").open("wb") as log:
            log.writelines(recording.strings)
            log.writelines(islice(recording.copies(), compiles // 2))
        yield "compiles", compiles, folder / "trace.log"
    for sources in (10, 100, 1000, 5000):
        folder.mkdir()
        trace(SOURCES, folder, str(sources))
        yield "inputs of one function", sources, folder
    for ranks in (1, 10, 100, 1000):
        folder.mkdir()
        write_ranks(folder / "ranks", ranks, 300_000, EAGER)
        yield "ranks of 300 kB", ranks, folder / "ranks"


def trace(program: str, folder: Path, *arguments: str) -> None:
    """Runs a program under this interpreter's PyTorch, traced into `folder`."""
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "TORCH_TRACE": str(folder)},
        check=True,
        capture_output=True,
    )
