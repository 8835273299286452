"""`pgo-advisor diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from pgo_advisor.commands.common import EPILOG, MAP_OPTION, TLPARSE_OPTION, end_on_signals
from pgo_advisor.commands.outputs import Reports, outputs

if TYPE_CHECKING:
    from pgo_advisor.patch import PathMap


@cloup.command(epilog=EPILOG)
@outputs
@cloup.option_group(
    "More outputs",
    cloup.option(
        "--summary",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Append the comment, without its limit, to a file.",
    ),
)
@cloup.option_group("Inputs", MAP_OPTION, TLPARSE_OPTION)
@click.argument("before", type=click.UNPROCESSED)
@click.argument("after", type=click.UNPROCESSED)
def diff(
    before: str,
    after: str,
    summary: Path | None,
    maps: tuple[PathMap, ...],
    timeout: float,
) -> None:
    """Say what differs between two runs, commits or PyTorch releases.

    BEFORE and AFTER are each what analyze takes as PATH. Which recompiles came, went, or have another cause;
    the guards and lines behind them; advice that is new or no longer needed. Two runs of one program differ
    in nothing: lines, sizes, ranks and seconds are not compared.
    """
    from pgo_advisor.analysis import analyze
    from pgo_advisor.compare.places import Checkout
    from pgo_advisor.diff.changes import difference
    from pgo_advisor.diff.html import render_html
    from pgo_advisor.diff.markdown import SUMMARY_LIMIT, render_markdown
    from pgo_advisor.diff.text import render_text
    from pgo_advisor.render.json import render_json

    end_on_signals()
    reports = Reports((before, after))
    old, new = (analyze(path, timeout=timeout) for path in (before, after))
    told = difference(old, new, Checkout(maps=maps))
    reports.write_each(
        {
            "html": lambda: render_html(told),
            "markdown": lambda: render_markdown(told),
            "json": lambda: render_json(told),
            "text": lambda: render_text(told),
        },
        lambda color: render_text(told),
    )
    if summary:
        with summary.open("a", encoding="utf-8", errors="replace") as file_:
            file_.write(render_markdown(told, SUMMARY_LIMIT))
