"""`pgo-advisor analyze`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from pgo_advisor.commands.common import EPILOG, inputs, run_analysis


@click.command(epilog=EPILOG)
@inputs
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as one HTML file.")
@click.option("--markdown", type=click.Path(path_type=Path), help="Write a pull-request comment.")
@click.option("--json", "json_", type=click.Path(path_type=Path), help="Write everything as JSON.")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the tables as Parquet files into a new directory.",
)
@click.option(
    "--keep-tlparse",
    "keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what tlparse wrote in a new directory; its report of a log is log_N/index.html.",
)
@click.option("-f", "--force", is_flag=True, help="Replace output files that exist.")
@click.option("-q", "--quiet", is_flag=True, help="Print no report.")
def analyze(
    paths: tuple[str, ...],
    torch_version: str | None,
    timeout: float,
    html: Path | None,
    markdown: Path | None,
    json_: Path | None,
    parquet: Path | None,
    keep: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Say what to declare dynamic and why, and what else recompiled."""
    from pgo_advisor.files import check_new_directory, check_writable, write_text

    for path in (html, markdown, json_):
        if path is not None:
            check_writable(path, force=force)
    for directory in (parquet, keep):
        if directory is not None:
            check_new_directory(directory)
    analysis = run_analysis(paths, torch_version, timeout, keep)
    for path, render in (
        (html, analysis.to_html),
        (markdown, analysis.to_markdown),
        (json_, analysis.to_json),
    ):
        if path is not None:
            write_text(path, render(), force=force)
    if parquet is not None:
        analysis.tables.to_parquet(parquet)
    if not quiet:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        click.echo(analysis.to_text(width=_width(), color=color), nl=False, color=color)


def _width() -> int:
    return min(120, max(60, shutil.get_terminal_size((100, 24)).columns))
