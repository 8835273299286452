"""Runs programs with the patch that the advice makes: `python -m scripts.scenarios.patched [PROGRAM...]`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import click

import pgo_advisor
from pgo_advisor.patch import SiteOutcome
from pgo_advisor.patch.write import write
from scripts.scenarios.run import run

PROGRAMS = Path(__file__).parents[2] / "tests" / "scenarios"


@click.command()
@click.argument("programs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to run under.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the rows as JSON.")
def main(programs: tuple[Path, ...], python: str, out: Path | None) -> None:
    """Record each program, patch a copy of it, run that, and print its compiles beside the predicted ones.

    Where a part of the advice gets no mark, the run has the list of that, too. Exits with 1 if
    a patched program broke or was measured outside of the predicted range.
    """
    rows = []
    for program in programs or sorted(PROGRAMS.glob("[a-z]*.py")):
        row = patched(python, program)
        if row:
            rows.append(row)
            click.echo(json.dumps(row))
    if out:
        out.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(any(row["broken"] or not row["inside"] for row in rows))


def patched(python: str, program: Path) -> dict[str, object] | None:
    """One program's row; None where the advice has no mark."""
    sidecar = program.with_suffix(".json")
    processes = json.loads(sidecar.read_text())["processes"] if sidecar.exists() else 1
    with tempfile.TemporaryDirectory(prefix="patched-") as scratch:
        folder = Path(scratch)
        copy = folder / program.name
        shutil.copy(program, copy)
        base = run(python, copy, folder / "base", processes=processes)
        if not base.compiles:
            return None
        analysis = pgo_advisor.analyze(folder / "base")
        if not any(advice.code for advice in analysis.advice):
            return None
        made = analysis.patch(root=folder)
        write(made.files, allow_dirty=True)
        again = analysis.patch(root=folder)
        entries = [
            item.list_entry for item in analysis.advice if item.list_entry and not made.marked(item)
        ]
        listed = ",".join(dict.fromkeys(entries))
        done = run(
            python,
            copy,
            folder / "patched",
            processes=processes,
            variables={"TORCH_COMPILE_DYNAMIC_SOURCES": listed} if listed else {},
        )
        predicted = analysis.totals.predicted
        high = predicted.high
        return {
            "program": program.stem,
            "before": base.compiles,
            "patched": done.compiles,
            "predicted": [predicted.low, high],
            "inside": predicted.low <= done.compiles and (high is None or done.compiles <= high),
            "broken": done.exit_code != base.exit_code and done.output[-300:],
            "again": bool(again.files),
            "list": listed,
            "reasons": [
                f"{site.line} {site.outcome.value}: {reason}"
                for site in made.sites
                for reason in site.reasons
            ],
            "marked": sum(site.outcome is SiteOutcome.marked for site in made.sites),
        }


if __name__ == "__main__":
    main()
