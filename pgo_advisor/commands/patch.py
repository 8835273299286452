"""`pgo-advisor patch`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from pgo_advisor.commands.common import (
    EPILOG,
    MAP_OPTION,
    ROOT_OPTION,
    inputs,
    remark_on,
    run_analysis,
)

if TYPE_CHECKING:
    from pgo_advisor.patch import PathMap


def _bounds(context: click.Context, option: click.Parameter, value: str) -> Any:
    if value in ("none", "observed"):
        return value
    match = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})", value)
    if not match or int(match[1]) >= int(match[2]):
        raise click.BadParameter(f"{value!r} is neither none, observed nor LO:HI")
    return int(match[1]), int(match[2])


@cloup.command(epilog=EPILOG)
@cloup.option_group(
    "Marks",
    cloup.option("--write", is_flag=True, help="Change the files instead of printing a diff."),
    cloup.option(
        "--bounds",
        callback=_bounds,
        default="none",
        show_default=True,
        metavar="none|observed|LO:HI",
        help="Give mark_dynamic min= and max=; a size outside of them then ends the program.",
    ),
    MAP_OPTION,
    ROOT_OPTION,
    cloup.option("--allow-dirty", is_flag=True, help="Write files that have uncommitted changes."),
)
@inputs
def patch(
    paths: tuple[str, ...],
    torch_version: str | None,
    timeout: float,
    write: bool,
    bounds: Any,
    maps: tuple[PathMap, ...],
    root: Path | None,
    allow_dirty: bool,
) -> None:
    """Mark the inputs in the source: a diff for git apply, or --write.

    What was done at each call site, and why not, is said on standard error.
    """
    from pgo_advisor.patch.write import write as write_files
    from pgo_advisor.render.patch import render_sites

    analysis = run_analysis(paths, torch_version, timeout)
    remark_on(analysis)
    made = analysis.patch(root=root, maps=maps, bounds=bounds)
    if write:
        write_files(made.files, allow_dirty=allow_dirty)
    else:
        click.echo(made.diff, nl=False)
    click.echo(render_sites(made), nl=False, err=True)
