"""What runs of a program without and with the advice showed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from statistics import median

from pgo_advisor.ranges import Range


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


@dataclass(frozen=True)
class Spread:
    """What several runs gave, in their order."""

    values: tuple[float, ...]

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def middle(self) -> float:
        return median(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


@dataclass(frozen=True)
class Side:
    """The runs of one side of the comparison. A value for each run; seconds of wall time."""

    compiles: tuple[int, ...]
    compile_seconds: Spread
    """Durations of all compiles in the traces, added up over processes."""
    wall: Spread
    """From the program's start to its end."""
    rest: Spread
    """`wall` less the compiles of the process that compiled longest: start-up, and all execution. The trace
    does not tell steps apart, so a step that became slower shows here, added up over all steps."""
    exit_codes: tuple[int, ...]


@dataclass(frozen=True)
class FrameMeasured:
    """A compiled function in the runs; compiles are a number for each run."""

    name: str
    file: str
    line: int
    predicted: Range | None
    """None where the advice predicts nothing of it."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    seconds_before: Spread
    seconds_after: Spread


@dataclass(frozen=True)
class Measured:
    """The comparison, and where it was made."""

    outcome: Outcome
    why: str
    """One sentence."""
    notes: tuple[str, ...]
    """What else has to be known, in sentences."""
    way: Way
    dynamic_sources: str
    """The list that was tried."""
    marks: tuple[str, ...]
    """The inputs that were marked, each with its functions and its places."""
    diff: str
    """The change of the source that was tried; empty for a list."""
    files: tuple[str, ...]
    """What it changes, from the root."""
    predicted: Range | None
    before: Side
    after: Side
    frames: tuple[FrameMeasured, ...]
    unforeseen: tuple[str, ...]
    """Causes of recompiles with the advice that the prediction does not know, each with its function."""
    broken_by: tuple[str, ...]
    """Entries or marks without which the program ran as before: the fewest that break it together."""
    useless: tuple[str, ...]
    """Those that were left out without more compiles, and entries that name no input."""
    smallest: tuple[str, ...] | None
    """The fewest with the same effect, or those that break nothing; None if they were not looked for."""
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
