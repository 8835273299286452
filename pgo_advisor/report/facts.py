"""What every rendering says first: how bad it is, what goes, how sure that is, which changes there are."""

from __future__ import annotations

from enum import Enum

from pgo_advisor.report.base import Code, Part, Range


class Fate(Code):
    """What becomes of a recompile with all of the advice."""

    goes = "goes"
    may_go = "may-go"
    """The prediction for its function is a range."""
    stays = "stays"


class Sureness(str, Enum):
    """How the saving is known."""

    exact = "exact"
    """Predicted: the recorded calls, gone through again with the advice, need exactly this many compiles."""
    range = "range"
    """Predicted; the record does not tell enough for one number."""
    measured = "measured"
    """The program ran without and with the advice."""
    unknown = "unknown"
    """No compile is recorded, or nothing is advised."""


class Consequence(str, Enum):
    """What is worse than a recompile."""

    runs_uncompiled = "runs-uncompiled"
    """The recompile limit was hit: calls that no graph takes run uncompiled from then on."""
    compile_failed = "compile-failed"
    """A compile ended with an exception."""


class Severity(Part, frozen=True):
    """Functions that something worse than a recompile befell."""

    kind: Consequence
    frames: tuple[str, ...]
    may_be_cured: bool
    """Whether the advice leaves fewer compiles in each of them."""


class Opportunity(Part, frozen=True):
    """A change that stands by itself: inputs that are declared all, or not at all.

    Each recompile that goes is counted with one opportunity only, so that their sums are those of the totals.
    """

    advice: tuple[int, ...]
    """Indexes into the report's `advice`."""
    frames: tuple[str, ...]
    equal: bool
    """Whether the code requires some of the inputs to be equal."""
    saved_compiles: Range
    saved_seconds: float
    """At the most."""
    least_saved_seconds: float


class Process(Part, frozen=True):
    """The process that spent most time on compiling."""

    log: int
    rank: int | None
    seconds: float = 0.0
