"""Measures pgo-advisor side by side with tlparse and tlhub: `python -m scripts.bench`, see --help."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from pgo_advisor.ingest.trace.tlparse import find_tlparse
from pgo_advisor.ingest.workers import cores
from scripts.bench.growth import EAGER, growth
from scripts.bench.large_trace import RECORDED, write_large_trace, write_ranks
from scripts.bench.measure import Measure, measure, middle

SMALL = RECORDED.with_name("s02_batch_and_seq.log.gz")
TLHUB = "import sys; from pathlib import Path; from tlhub.trace_parser import ingest_trace_dir as ingest; "
TLHUB += "ingest('bench', Path(sys.argv[1]), Path(sys.argv[2]) / 'artifacts')"


class Bench:
    """Runs each of several commands so many times, in turn, each in a new directory."""

    def __init__(self, scratch: Path, rounds: int) -> None:
        self.scratch = scratch
        self.rounds = rounds
        self.results: dict[str, Any] = {}

    def compare(self, name: str, **runs: Callable[[Path], Measure]) -> None:
        measures: dict[str, list[Measure]] = {what: [] for what in runs}
        for number in range(self.rounds):
            for what, run in runs.items():
                place = self.scratch / f"{name}_{what}_{number}"
                place.mkdir()
                measures[what].append(run(place))
                shutil.rmtree(place)
                last = measures[what][-1]
                click.echo(
                    f"{name} {what}: {last.wall:.2f} s ({last.own:.2f} s without a tlparse), "
                    f"{last.peak / 1e6:.0f} MB",
                    err=True,
                )
        self.results[name] = {
            what: {
                "runs": self.rounds,
                **{key: value for key, value in asdict(middle(all_)).items() if key != "output"},
            }
            for what, all_ in measures.items()
        }


def ours(path: Path, place: Path, *more: str) -> Measure:
    command = [sys.executable, "-m", "pgo_advisor", "analyze", "-q", str(path)]
    outputs = ["--html", str(place / "report.html"), "--json", str(place / "report.json")]
    return measure([*command, *outputs, *more])


def tlparse(path: Path, place: Path) -> Measure:
    return measure([find_tlparse(), path, "-o", place / "out", "--no-browser", "--overwrite"])


def tlhub(python: str, directory: Path, place: Path) -> Measure:
    return measure([python, "-c", TLHUB, directory, place])


def tlparse_each(directory: Path, place: Path) -> Measure:
    """Runs tlparse alone, once for each log, on all cores."""
    script = (
        "import subprocess, sys, os; from pathlib import Path; "
        "from concurrent.futures import ThreadPoolExecutor as Pool; "
        "run = lambda log: subprocess.run([sys.argv[1], log, '-o', str(Path(sys.argv[3], log.stem)), "
        "'--no-browser', '--overwrite'], capture_output=True, check=True); "
        "list(Pool(len(os.sched_getaffinity(0))).map(run, sorted(Path(sys.argv[2]).iterdir())))"
    )
    return measure([sys.executable, "-c", script, find_tlparse(), directory, place])


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A Dask cluster of processes of this machine; its address."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        workers, threads_per_worker=1, dashboard_address=None
    ) as running:
        yield str(running.scheduler_address)


@click.command()
@click.option("--rounds", default=5, show_default=True, help="Runs of each; medians are given.")
@click.option("--size", default=526, show_default=True, help="MB of the large trace.")
@click.option("--ranks", default=1000, show_default=True, help="Logs of the job with many ranks.")
@click.option("--tlhub", "tlhub_python", help="Interpreter that has tlhub, to measure it, too.")
@click.option("--only", multiple=True, help="Just these: large, small, ranks, cluster, growth.")
@click.option("--json", "out", type=click.Path(path_type=Path), required=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the growth as SVG.")
def main(
    rounds: int,
    size: int,
    ranks: int,
    tlhub_python: str | None,
    only: tuple[str, ...],
    out: Path,
    plot: Path | None,
) -> None:
    """Measure on this machine, all in one run, and write the medians as JSON.

    It takes psutil, and matplotlib for --plot. `scripts/docs.py` makes the table of docs/speed.md of it.
    """
    wanted = set(only or ("large", "small", "ranks", "cluster", "growth"))
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = Path(scratch)
        bench = Bench(folder, rounds)
        if "large" in wanted:
            large = folder / "large" / "trace.log"
            large.parent.mkdir()
            write_large_trace(large, size * 1_000_000)
            runs: dict[str, Callable[[Path], Measure]] = {
                "pgo_advisor": partial(ours, large),
                "tlparse": partial(tlparse, large),
            }
            if tlhub_python:
                runs["tlhub"] = partial(tlhub, tlhub_python, large.parent)
            bench.compare("large", **runs)
            shutil.rmtree(large.parent)
        if "small" in wanted:
            bench.compare(
                "small",
                pgo_advisor=partial(ours, SMALL),
                help=lambda _: measure([sys.executable, "-m", "pgo_advisor", "--help"]),
            )
        if wanted & {"ranks", "cluster"}:
            many = folder / "ranks"
            write_ranks(many, ranks, 300_000, EAGER)
            if "ranks" in wanted:
                bench.compare(
                    "ranks",
                    pgo_advisor=partial(ours, many),
                    tlparse=partial(tlparse_each, many),
                )
            if "cluster" in wanted:
                with cluster(2) as address:
                    bench.compare(
                        "cluster",
                        pgo_advisor=lambda place: ours(many, place, "--cluster", address),
                    )
            shutil.rmtree(many)
        if "growth" in wanted:
            bench.results["growth"] = growth(folder, ours)
    bench.results["machine"] = {
        "cores": cores(),
        "processor": _processor(),
        "python": platform.python_version(),
        "size_mb": size,
        "ranks": ranks,
    }
    out.write_text(json.dumps(bench.results, indent=1) + "\n")
    if plot and "growth" in wanted:
        from scripts.bench.plot import draw

        draw(bench.results["growth"], plot)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "?")


if __name__ == "__main__":
    main()
