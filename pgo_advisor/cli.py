"""The command line: the group of all commands, and what becomes of errors."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib import metadata
from typing import Any

import click
import cloup

from pgo_advisor.commands.analyze import analyze
from pgo_advisor.commands.check import check
from pgo_advisor.commands.common import remark
from pgo_advisor.commands.completion import completion
from pgo_advisor.commands.diff import diff
from pgo_advisor.commands.env import env
from pgo_advisor.commands.explain import explain
from pgo_advisor.commands.patch import patch
from pgo_advisor.commands.record import record
from pgo_advisor.commands.snippet import snippet
from pgo_advisor.commands.verify import verify
from pgo_advisor.errors import PgoAdvisorError

_EPILOG = (
    "Exit codes: 0 done, also if there is nothing to advise; 1, of check, something is too much; 2 wrong "
    "usage, or an output that exists or cannot be written; 3 an input that does not exist or cannot be "
    "analysed; 4 tlparse is missing, too old, or fails; 5, of verify, the advice did not hold; 130 "
    "interrupted. record and verify else exit as the program does."
)


class _Commands(cloup.Group):
    """Turns what pgo-advisor knows to go wrong into one sentence and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        _open_streams()
        return super().main(*args, **kwargs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; `analyze` where a path stands in its place."""
        if args[0] not in self.commands and _is_path(args[0]):
            args = ["analyze", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PgoAdvisorError as error:
            remark(str(error))
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            remark("interrupted")
            ctx.exit(128 + signal.SIGINT)
        except BrokenPipeError:
            # whoever read the output has had enough, as head does
            _discard_output()
            ctx.exit(0)
        except OSError as error:
            where = error.filename
            if where is None:
                _discard_output()
                where = "standard output" if error.errno in _OF_WRITING else "the working directory"
            remark(f"{where} cannot be used: {error.strerror}")
            ctx.exit(2)


def _is_path(text: str) -> bool:
    return text == "-" or not {"/", os.sep, "."}.isdisjoint(text) or os.path.lexists(text)


_OF_WRITING = {errno.EBADF, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EDQUOT}


def _open_streams() -> None:
    """Puts something in the place of standard streams that are closed: a file would get their number."""
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # it gets the lowest number that is free; using it fails, but for standard error
            os.open(os.devnull, mode)
            name = ("stdin", "stdout", "stderr")[number]
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _discard_output() -> None:
    """Lets what is left of the output go, since it cannot be written when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _tell_versions(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Its own, and of what decides what it can do; PyTorch is not imported."""
    if wanted:
        found = []
        for name in ("pgo-advisor", "tlparse", "torch"):
            with suppress(metadata.PackageNotFoundError):
                found.append(f"{name} {metadata.version(name)}")
        click.echo(", ".join(found))
        ctx.exit()


@cloup.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_versions,
    help="Show the versions of pgo-advisor, tlparse and torch that are installed, and exit.",
)
def main() -> None:
    """Says which inputs of a torch.compile program to mark dynamic, how, and what it saves.

    pgo-advisor PATH is short for pgo-advisor analyze PATH.

    PATH is what a run left behind: a TORCH_TRACE directory or a log in it, a directory that tlparse
    wrote, a PGO profile, or what TORCH_LOGS printed; also compressed, in an archive, or a URL; - is standard
    input. Several paths, as of several ranks, are analysed together as one job.
    """


main.section("A recording", analyze, env, snippet, patch)
main.section("A program", record, verify)
main.section("A team", check, diff)
main.section("Help", explain, completion)
