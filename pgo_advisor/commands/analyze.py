"""`pgo-advisor analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pgo_advisor.commands.common import (
    EPILOG,
    Reports,
    inputs,
    outputs,
    run_analysis,
    source_maps,
)

if TYPE_CHECKING:
    from pgo_advisor.patch import PathMap


@click.command(epilog=EPILOG)
@inputs
@outputs
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the tables as Parquet files into a new directory.",
)
@click.option(
    "--full",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write tlparse's own report of each whole log, too, into a new directory: log_N/index.html.",
)
@click.option(
    "--patch",
    "patched",
    is_flag=True,
    help="Show the marks as changes of the source in the HTML and the comment.",
)
@source_maps
@click.option(
    "--repo-url",
    metavar="URL",
    help="Link the changed lines to this place, as https://github.com/OWNER/NAME/blob/main.",
)
def analyze(
    paths: tuple[str, ...],
    torch_version: str | None,
    timeout: float,
    html: Path | None,
    markdown: Path | None,
    json_: Path | None,
    parquet: Path | None,
    full: Path | None,
    patched: bool,
    maps: tuple[PathMap, ...],
    repo_url: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Say what to declare dynamic and why, and what else recompiled."""
    from pgo_advisor.files import check_new_directory

    reports = Reports(html, markdown, json_, force=force, quiet=quiet, inputs=paths)
    for directory in (parquet, full):
        if directory is not None:
            check_new_directory(directory)
    analysis = run_analysis(paths, torch_version, timeout, full)
    reports.write(analysis, patch=analysis.patch(maps=maps) if patched else None, repo_url=repo_url)
    if parquet is not None:
        analysis.tables.to_parquet(parquet)
