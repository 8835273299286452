"""`pgo-advisor verify`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import cloup

from pgo_advisor.commands.common import POSITIVE, ROOT_OPTION, end_on_signals, program, remark
from pgo_advisor.commands.outputs import Reports, outputs

NOT_HELD = 5
_RUNS = cloup.OptionGroup("The runs")
_EPILOG = (
    "Exit codes: the program's own, of its first run, if the advice held or there is none; 5 if it did not "
    "hold, the runs cannot be compared, or nothing of it can be a mark; 126 or 127 if the program cannot be "
    "run. If pgo-advisor fails: 2, 3 or 4, as `pgo-advisor analyze` has them."
)


@cloup.command(epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@outputs
@cloup.option_group(
    "The runs",
    cloup.option(
        "--advice",
        type=click.Path(path_type=Path),
        metavar="PATH|FILE.json",
        help="What to verify: anything that can be analysed, or what --json wrote. Without it: what "
        "the first run gives.",
    ),
    cloup.option(
        "--with",
        "way",
        type=click.Choice(["list", "mark"]),
        default="list",
        show_default=True,
        help="Verify the list, or the marks that `pgo-advisor patch` makes, in a copy of the source.",
    ),
    ROOT_OPTION,
    cloup.option(
        "--runs",
        type=click.IntRange(min=1),
        default=2,
        show_default=True,
        help="Runs without and with the advice, each; the figures come with their spread.",
    ),
    cloup.option(
        "--compare",
        metavar="CMD",
        help="Shell command that is run after each run and whose output and exit code are to be the same, "
        "as 'sha256sum out.pt'.",
    ),
    cloup.option(
        "--minimize",
        is_flag=True,
        help="Look for the smallest part with the same effect.",
    ),
    cloup.option(
        "--timeout",
        type=POSITIVE,
        metavar="SECONDS",
        help="Stop a run after this time.",
    ),
)
@program
def verify(
    command: tuple[str, ...],
    advice: Path | None,
    way: str,
    root: Path | None,
    runs: int,
    compare: str | None,
    minimize: bool,
    timeout: float | None,
) -> None:
    """Run a program without and with the advice: what that saved.

    Each run has fresh caches. The report goes to standard output, and all that the program writes to
    standard error. A pipe on standard input is read once and given to each run.
    """
    from pgo_advisor.ingest.trace.tlparse import find_tlparse
    from pgo_advisor.render.patch import render_sites
    from pgo_advisor.report.measured import Outcome, Way
    from pgo_advisor.run.record import why_nothing
    from pgo_advisor.run.watch import say_on_terminal
    from pgo_advisor.verify.compare import verify as run
    from pgo_advisor.verify.expectation import read_expectation

    if root and way == "list":
        raise click.UsageError("--root says where marks may go; it needs --with mark")
    end_on_signals()
    reports = Reports()
    find_tlparse()
    expected = None if advice is None else read_expectation(advice)
    if expected and not expected.dynamic_sources and way == "list":
        remark(f"{advice} advises nothing: there is nothing to verify")
    verified = run(
        command,
        expected,
        way=Way(way),
        root=root,
        runs=runs,
        compare=compare,
        timeout=timeout,
        minimize=minimize,
        say=None if reports.quiet else say_on_terminal(),
    )
    if verified.analysis is None:
        remark(f"no compile was recorded. {why_nothing(command)}")
        sys.exit(verified.exit_code)
    patch = verified.patch
    reports.write(verified.analysis, patch=patch)
    measured = verified.analysis.measured
    if measured is None and patch and (patch.sites or patch.unmarkable):
        click.echo(render_sites(patch), nl=False, err=True)
        remark("there is nothing to verify as marks: none of the advice can be one")
        sys.exit(NOT_HELD)
    if measured is None or measured.outcome is Outcome.held:
        sys.exit(verified.exit_code)
    remark(f"the advice did not hold: {measured.why}")
    sys.exit(NOT_HELD)
