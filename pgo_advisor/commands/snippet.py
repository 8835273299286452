"""`pgo-advisor snippet`."""

from __future__ import annotations

import click
import cloup

from pgo_advisor.commands.common import EPILOG, inputs, remark_on, run_analysis


@cloup.command(epilog=EPILOG)
@inputs
def snippet(paths: tuple[str, ...], torch_version: str | None, timeout: float) -> None:
    """Print Python that marks the inputs, with where to put it."""
    analysis = run_analysis(paths, torch_version, timeout)
    remark_on(analysis)
    click.echo(analysis.snippet(), nl=False)
