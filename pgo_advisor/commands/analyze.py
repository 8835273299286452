"""`pgo-advisor analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from pgo_advisor.commands.common import EPILOG, MAP_OPTION, inputs, run_analysis
from pgo_advisor.commands.outputs import Reports, outputs

if TYPE_CHECKING:
    from pgo_advisor.patch import PathMap


@cloup.command(epilog=EPILOG)
@outputs
@cloup.option_group(
    "More outputs",
    cloup.option(
        "--parquet",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write the tables as Parquet files into a new directory.",
    ),
    cloup.option(
        "--full",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write tlparse's own report of each whole log, too, into a new directory: log_N/index.html.",
    ),
)
@cloup.option_group(
    "Source files",
    cloup.option(
        "--patch",
        "patched",
        is_flag=True,
        help="Show the marks as changes of the source in the HTML and the comment.",
    ),
    MAP_OPTION,
    cloup.option(
        "--repo-url",
        metavar="URL",
        help="Link the changed lines to this place, as https://github.com/OWNER/NAME/blob/main.",
    ),
)
@inputs
def analyze(
    paths: tuple[str, ...],
    torch_version: str | None,
    timeout: float,
    parquet: Path | None,
    full: Path | None,
    patched: bool,
    maps: tuple[PathMap, ...],
    repo_url: str | None,
) -> None:
    """Say what to declare dynamic and why, and what else recompiled."""
    from pgo_advisor.files import check_new_directory

    reports = Reports(paths)
    for directory in (parquet, full):
        if directory is not None:
            check_new_directory(directory)
    analysis = run_analysis(paths, torch_version, timeout, full)
    reports.write(analysis, patch=analysis.patch(maps=maps) if patched else None, repo_url=repo_url)
    if parquet is not None:
        analysis.tables.to_parquet(parquet)
