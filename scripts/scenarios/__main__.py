"""The score of the advice: `python -m scripts.scenarios [PROGRAM...]`, see --help."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from scripts.scenarios.score import Score, score

PROGRAMS = Path(__file__).parents[2] / "tests" / "scenarios"


@click.command()
@click.argument("programs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to run under.")
@click.option("--jobs", default=2, show_default=True, help="Programs at one time.")
@click.option("--leave-out/--no-leave-out", help="Try each entry's absence, too: many runs.")
@click.option("--marks/--no-marks", default=True, show_default=True, help="Apply the marks, too.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the scores as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write the table as Markdown.")
def main(
    programs: tuple[Path, ...],
    python: str,
    jobs: int,
    leave_out: bool,
    marks: bool,
    out: Path | None,
    markdown: Path | None,
) -> None:
    """Record each program, analyse it, apply the advice, run it again, and print what it was worth.

    PROGRAMS are files or folders; without any, those of tests/scenarios. Exits with 1 if a program broke, was
    not brought to its best count, or was measured outside of the predicted range.
    """
    files = [
        file
        for path in programs or (PROGRAMS,)
        for file in (sorted(path.glob("[a-z]*.py")) if path.is_dir() else [path])
    ]
    scores: list[Score] = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(
            lambda file: score(python, file.resolve(), leave_out=leave_out, marks=marks), files
        ):
            scores.append(result)
            click.echo(
                f"{len(scores)}/{len(files)} {result.program} {result.error or ''}", err=True
            )
    if out:
        rows = [
            {**asdict(row), "inside": row.inside, "at_best": row.at_best, "exact": row.exact}
            for row in scores
        ]
        out.write_text(json.dumps(rows, indent=1) + "\n")
    if markdown:
        markdown.write_text(_markdown(scores))
    Console(width=200).print(_table(scores))
    ran = [row for row in scores if not row.error]
    bad = [
        row for row in ran if row.broken or row.at_best is False or not row.inside or row.useless
    ]
    click.echo(
        f"{len(ran)} programs: {sum(row.base for row in ran)} compiles, with PyTorch's own suggestion "
        f"{sum(row.builtin or 0 for row in ran)}, with ours {sum(row.ours or 0 for row in ran)}; "
        f"{sum(row.inside for row in ran)} inside the predicted range, {sum(row.exact for row in ran)} exact"
    )
    sys.exit(1 if bad else 0)


_COLUMNS = (
    "program",
    "before",
    "PyTorch's",
    "ours",
    "marks",
    "unbacked",
    "best",
    "predicted",
    "remarks",
)


def _cells(row: Score) -> list[str]:
    low, high = row.predicted
    predicted = str(low) if low == high else f"{low} to {'?' if high is None else high}"
    best = "" if row.expected is None else str(row.expected["best"])
    remarks = [row.error] if row.error else []
    remarks += [f"broken: {', '.join(row.broken)}"] if row.broken else []
    remarks += ["not at best"] if row.at_best is False and not row.error else []
    remarks += [] if row.inside or row.error else ["outside of the prediction"]
    remarks += [f"useless: {', '.join(row.useless)}"] if row.useless else []
    counts = (row.builtin, row.ours, row.marked, row.unbacked)
    return [
        row.program,
        str(row.base),
        *("" if count is None else str(count) for count in counts),
        best,
        predicted,
        "; ".join(remarks),
    ]


def _table(scores: list[Score]) -> Table:
    table = Table(*_COLUMNS, box=None)
    for row in scores:
        table.add_row(*_cells(row))
    return table


def _markdown(scores: list[Score]) -> str:
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'---|' * len(_COLUMNS)}"]
    lines += [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in _cells(row))} |"
        for row in scores
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
