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

from scripts.scenarios.patched import patched
from scripts.scenarios.run import run

PROGRAMS = Path(__file__).parents[1] / "tests" / "scenarios"


@click.command()
@click.argument("programs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to run under.")
@click.option("--with", "way", type=click.Choice(["list", "mark"]), default="list")
def main(programs: tuple[Path, ...], python: str, way: str) -> None:
    """Measure PROGRAMS, without any all of tests/scenarios, in both ways; exits with 1 if these differ.

    With marks the script is patched.py. What is measured outside of the predicted range is told, too.
    """
    files = programs or sorted(PROGRAMS.glob("[a-z]*.py"))
    differ, outside = [], []
    for program in map(Path.resolve, files):
        sidecar = program.with_suffix(".json")
        processes = json.loads(sidecar.read_text()).get("processes", 1) if sidecar.exists() else 1
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            report = _verify(python, program, processes, folder / "verified.json", way)
            measured = report["measured"]
            if way == "mark" and measured:
                row = patched(python, program)
                script = row and [row["before"], row["patched"]]
            elif way == "list":
                script = [
                    run(
                        python, program, folder / str(number), processes=processes, variables=advice
                    ).compiles
                    for number, advice in enumerate(
                        [{}, {"TORCH_COMPILE_DYNAMIC_SOURCES": measured["dynamic_sources"]}]
                        if measured
                        else [{}]
                    )
                ]
            else:
                script = [report["totals"]["compiles"]]
        told = report["why"]
        if measured:
            verified = measured["before"]["compiles"] + measured["after"]["compiles"]
            low, high = measured["predicted_compiles"]
            told = measured["outcome"]
            if verified[1] < low or (high is not None and verified[1] > high):
                outside.append(program.stem)
                told += f", OUTSIDE of {low} to {high}"
        else:
            verified = [report["totals"]["compiles"]]
        if verified != script:
            differ.append(program.stem)
            told += ", DIFFERENT"
        click.echo(f"{program.stem}: verify {verified}, script {script}, {told}")
    click.echo(
        f"{len(files)} programs, {len(differ)} measured differently: {', '.join(differ)}; "
        f"{len(outside)} outside of the prediction: {', '.join(outside)}"
    )
    sys.exit(bool(differ))


def _verify(python: str, program: Path, processes: int, out: Path, way: str) -> dict[str, Any]:
    """The report, and `why` nothing was measured, as far as it was said."""
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
            "--with",
            way,
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
    why = {"why": " ".join(done.stderr.split())[-300:]}
    if not out.exists():
        return {"measured": None, "totals": {"compiles": 0}, **why}
    return {**json.loads(out.read_text()), **why}


if __name__ == "__main__":
    main()
