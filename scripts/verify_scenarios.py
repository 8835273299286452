"""Whether `pgo-advisor verify` measures what the scenario script does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent / "scenarios"))

from run import run

PROGRAMS = Path(__file__).parents[1] / "tests" / "scenarios"


@click.command()
@click.argument("programs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to run under.")
def main(programs: tuple[Path, ...], python: str) -> None:
    """Measure PROGRAMS, without any all of tests/scenarios, in both ways; exits with 1 if these differ."""
    files = programs or sorted(PROGRAMS.glob("[a-z]*.py"))
    differ = []
    for program in map(Path.resolve, files):
        sidecar = program.with_suffix(".json")
        processes = json.loads(sidecar.read_text()).get("processes", 1) if sidecar.exists() else 1
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            verified, value, outcome = _verify(python, program, processes, folder / "verified.json")
            script: list[int | None] = [
                run(
                    python, program, folder / str(number), processes=processes, variables=advice
                ).compiles
                for number, advice in enumerate(
                    [{}, {"TORCH_COMPILE_DYNAMIC_SOURCES": value}] if value else [{}]
                )
            ]
        if verified != script:
            differ.append(program.stem)
        click.echo(
            f"{program.stem}: verify {verified}, script {script}, {outcome}"
            + (" DIFFERENT" if verified != script else "")
        )
    click.echo(f"{len(files)} programs, {len(differ)} measured differently: {', '.join(differ)}")
    sys.exit(bool(differ))


def _verify(
    python: str, program: Path, processes: int, out: Path
) -> tuple[list[int | None], str, str]:
    """Compiles before, and after if there is advice; the list; the outcome."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [python, *(torchrun if processes > 1 else []), str(program)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pgo_advisor",
            "verify",
            "-q",
            "--runs",
            "1",
            "--json",
            str(out),
            *command,
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        cwd=program.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if not out.exists():
        return [0], "", done.stderr[-300:]
    report: dict[str, Any] = json.loads(out.read_text())
    measured = report["measured"]
    if measured is None:
        return [report["totals"]["compiles"]], "", "nothing to verify"
    compiles = measured["before"]["compiles"] + measured["after"]["compiles"]
    return compiles, measured["dynamic_sources"], measured["outcome"]


if __name__ == "__main__":
    main()
