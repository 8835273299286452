"""The ways in which pgo-advisor can fail, each with the exit code that the command line gives it."""

from __future__ import annotations


class PgoAdvisorError(Exception):
    """Something that the user has to know and can act on, told in one sentence.

    `exit_code` is what the `pgo-advisor` command exits with: 2 for wrong usage or an output that
    cannot be written, 3 for an input that cannot be analysed, 4 for a tlparse that does not work, 126 or 127
    for a program that cannot be started.
    """

    exit_code = 2


class OutputError(PgoAdvisorError):
    """An output file that exists already or cannot be written."""


class InputError(PgoAdvisorError):
    """A path that does not exist, cannot be read, or holds nothing that can be analysed."""

    exit_code = 3


class NothingFoundError(InputError):
    """A path that is there, but cannot be read, or holds nothing that can be analysed."""


class NoCompileError(InputError):
    """The logs are in order, but torch.compile compiled nothing."""


class TlparseError(PgoAdvisorError):
    """tlparse is missing, too old, or failed on a log; of several logs, on every one that was read."""

    exit_code = 4


class ClusterError(PgoAdvisorError):
    """A Dask cluster that is not there, or cannot be used."""


class ProgramError(PgoAdvisorError):
    """A program that cannot be started; the exit code is what `env` and shells give then."""

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class InterruptedRunError(ProgramError):
    """A program of a comparison that was interrupted; the exit code is its own."""
