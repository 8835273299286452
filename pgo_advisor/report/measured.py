"""What runs of a program without and with the advice showed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from statistics import median

from pgo_advisor.report.base import Part, Range


class Outcome(str, Enum):
    """Whether the advice held. What it means is in each measurement's `why`."""

    held = "held"
    less_than_predicted = "less-than-predicted"
    no_help = "no-help"
    costs_more = "costs-more"
    broke = "broke"
    differs = "differs"
    """The program computed something else."""
    not_comparable = "not-comparable"


class Way(str, Enum):
    """How the advice was put into the program."""

    list = "list"
    mark = "mark"
    """Marks in a copy of its source, and what cannot be a mark in the list."""

    @property
    def what(self) -> str:
        return "the marks" if self is Way.mark else "the advice"

    def joined(self, items: Sequence[str]) -> str:
        """Entries as the value of the list; marks in words."""
        return (" and " if self is Way.mark else ",").join(items)


class Spread(tuple[float, ...]):
    """What several runs gave, in their order."""

    __slots__ = ()

    @property
    def low(self) -> float:
        return min(self)

    @property
    def middle(self) -> float:
        return median(self)

    @property
    def high(self) -> float:
        return max(self)


class Side(Part, frozen=True, rename={"wall": "wall_seconds", "rest": "rest_seconds"}):
    """The runs of one side of the comparison, a value for each."""

    compiles: tuple[int, ...]
    compile_seconds: Spread
    """Durations of all compiles in the traces, added up over processes."""
    wall: Spread
    """From the program's start to its end."""
    rest: Spread
    """Wall seconds less the compiles of the process that compiled longest: start-up, and all execution.

    The trace does not tell steps apart, so a step that became slower shows here, added up over all steps.
    """
    exit_codes: tuple[int, ...]


class FrameMeasured(Part, frozen=True, rename={"predicted": "predicted_compiles"}):
    """A compiled function in the runs, a value for each."""

    name: str
    file: str
    line: int
    predicted: Range | None
    """Null where the advice predicts nothing of it."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    seconds_before: Spread
    seconds_after: Spread


class Measured(
    Part, frozen=True, kw_only=True, rename={"way": "with", "predicted": "predicted_compiles"}
):
    """Runs of the program without and with the advice, by `pgo-advisor verify`."""

    outcome: Outcome
    why: str
    """One sentence."""
    notes: tuple[str, ...]
    """What else has to be known, in sentences."""
    way: Way
    dynamic_sources: str
    """The list that was tried; with marks, the entries for what cannot be one."""
    marks: tuple[str, ...]
    """The inputs that were marked, each with its functions and its places."""
    diff: str
    """The marks for `git apply` in the root; empty with a list."""
    files: tuple[str, ...]
    """What it changes, from the root."""
    predicted: Range | None
    before: Side
    after: Side
    frames: tuple[FrameMeasured, ...]
    unforeseen: tuple[str, ...]
    """Causes of recompiles that are left and were not predicted, each with its function."""
    broken_by: tuple[str, ...]
    """The fewest entries or marks that break the program together."""
    useless: tuple[str, ...]
    """Those that were left out without more compiles, and entries that name no input."""
    smallest: str | None
    """The fewest with the same effect, or those that break nothing; null if they were not looked for."""
    runs: int
    """How often the program was run in all."""
    machine: str
    torch_version: str | None
    when: str
    """UTC, ISO 8601."""

    @property
    def rejected(self) -> bool:
        """Whether the advice is not to be used as it stands."""
        return self.outcome in (
            Outcome.broke,
            Outcome.differs,
            Outcome.costs_more,
            Outcome.no_help,
        )
