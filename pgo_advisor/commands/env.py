"""`pgo-advisor env`."""

from __future__ import annotations

import click
import cloup

from pgo_advisor.commands.common import EPILOG, inputs, remark, remark_on, run_analysis
from pgo_advisor.dynamo.source_list import MAX_VALUE_BYTES
from pgo_advisor.errors import OutputError
from pgo_advisor.render.env import FORMATS


@cloup.command(epilog=EPILOG)
@cloup.option_group(
    "Output",
    cloup.option(
        "--format",
        "fmt",
        type=click.Choice(FORMATS),
        default="shell",
        show_default=True,
        help="Where it is to be pasted; value: the bare list.",
    ),
)
@inputs
def env(paths: tuple[str, ...], torch_version: str | None, timeout: float, fmt: str) -> None:
    """Print the variable TORCH_COMPILE_DYNAMIC_SOURCES, safe to eval.

    Nothing is printed on standard output if nothing is to be declared.
    """
    analysis = run_analysis(paths, torch_version, timeout)
    remark_on(analysis)
    if not analysis.advice:
        remark("nothing to declare dynamic: no recorded compile would be saved by it")
    length = len(analysis.dynamic_sources.encode())
    if fmt not in ("value", "python", "config", "json") and length > MAX_VALUE_BYTES:
        raise OutputError(
            "the list is longer than an environment variable can be; print it with --format config "
            "and set it in the program"
        )
    try:
        text = analysis.env(fmt)
    except ValueError as error:
        raise OutputError(f"{error}; give another --format") from error
    click.echo(text, nl=False)
