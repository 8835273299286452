"""`pgo-advisor diff`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pgo_advisor.commands.common import EPILOG, end_on_signals, source_maps, tlparse_timeout

if TYPE_CHECKING:
    from pgo_advisor.patch import PathMap

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=EPILOG)
@click.argument("before", type=click.UNPROCESSED)
@click.argument("after", type=click.UNPROCESSED)
@click.option("--html", type=_FILE, help="Write it as one HTML file.")
@click.option("--markdown", type=_FILE, help="Write it as a pull-request comment.")
@click.option(
    "--summary", type=_FILE, help="Append the same, without a comment's limit, to a file."
)
@click.option("--json", "json_", type=_FILE, help="Write it as JSON.")
@click.option("-f", "--force", is_flag=True, help="Replace output files that exist.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing.")
@source_maps
@tlparse_timeout
def diff(
    before: str,
    after: str,
    html: Path | None,
    markdown: Path | None,
    summary: Path | None,
    json_: Path | None,
    force: bool,
    quiet: bool,
    maps: tuple[PathMap, ...],
    timeout: float,
) -> None:
    """Say what differs between two runs: of two commits, or of two PyTorch releases.

    BEFORE and AFTER are each what analyze takes as PATH. Which recompiles came, went, or have another cause;
    the guards and lines behind them; advice that is new or no longer needed. Two runs of one program differ
    in nothing: lines, sizes, ranks and seconds are not compared.
    """
    from pgo_advisor.analysis import analyze
    from pgo_advisor.compare.places import Checkout
    from pgo_advisor.diff.changes import Difference, difference
    from pgo_advisor.diff.html import render_html
    from pgo_advisor.diff.markdown import SUMMARY_LIMIT, render_markdown
    from pgo_advisor.diff.text import render_text
    from pgo_advisor.files import check_writable, write_text
    from pgo_advisor.render.json import render_json

    end_on_signals()
    renderings: tuple[tuple[Path | None, Callable[[Difference], str]], ...] = (
        (html, render_html),
        (markdown, render_markdown),
        (json_, render_json),
    )
    outputs = [(file, render) for file, render in renderings if file is not None]
    for file, _ in outputs:
        check_writable(file, force=force)
    old, new = (analyze(path, timeout=timeout) for path in (before, after))
    told = difference(old, new, Checkout(maps=maps))
    for file, render in outputs:
        write_text(file, render(told), force=force)
    if summary:
        with summary.open("a", encoding="utf-8", errors="replace") as file_:
            file_.write(render_markdown(told, SUMMARY_LIMIT))
    if not quiet:
        click.echo(render_text(told), nl=False)
