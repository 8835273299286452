"""What an analysis says: recompiles with their causes, frames with their verdicts, advice, findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.ranges import Range


class Verdict(str, Enum):
    """What can be done about a frame's recompiles."""

    marking_helps = "marking-helps"
    marking_does_not_help = "marking-does-not-help"
    nothing_to_do = "nothing-to-do"

    @property
    def words(self) -> str:
        return self.value.replace("-", " ")


class Remedy(str, Enum):
    """How an input is declared dynamic. The list entry works in each case."""

    mark_dynamic = "mark_dynamic"
    maybe_mark_dynamic = "maybe_mark_dynamic"
    dynamic_sources = "dynamic_sources"
    """Only the list: the input cannot be marked from outside the compiled code."""


@dataclass(frozen=True)
class Seen:
    """One thing that changed between an earlier graph and the call that it refused.

    `text` is PyTorch's reason, verbatim; None for what the inputs show and no reason names.
    """

    kind: CauseKind
    source: str | None = None
    dim: int | None = None
    expected: str | None = None
    actual: str | None = None
    text: str | None = None
    user_code: str | None = None
    user_location: str | None = None

    @property
    def where(self) -> str:
        """`L['x'] dim 0`, `L['k']`, or nothing."""
        return (self.source or "") + ("" if self.dim is None else f" dim {self.dim}")

    @property
    def change(self) -> str:
        """What became of it: `8 → 12`, or `>= 2` where one side is known, or nothing."""
        if self.expected is not None and self.actual is not None:
            return f"{self.expected} → {self.actual}"
        return self.actual or self.expected or ""


@dataclass(frozen=True)
class Recompile:
    """A compile of a frame that had been compiled before. `causes`: the main one first."""

    compile: int
    compile_id: str
    rank: int | None
    frame: str
    causes: tuple[Seen, ...]
    start: float | None
    """Seconds since 1970, UTC."""
    seconds: float
    removed: bool
    """Whether the advice is predicted to remove it."""


@dataclass(frozen=True)
class CallSite:
    """The statement of the user's own code that calls a compiled function."""

    file: str
    line: int
    code: str | None
    through: str | None
    """The file of library code that it calls, if that makes the call itself, with arguments of its own."""


@dataclass(frozen=True)
class FrameReport:
    """A compiled code object, over all logs."""

    id: str
    name: str
    file: str
    line: int
    ranks: tuple[int | None, ...]
    compiles: int
    seconds: float
    predicted: Range
    """Compiles with the advice, over all logs."""
    unsure: tuple[str, ...]
    """Why the prediction is a range; empty if it is exact."""
    saved_seconds: float
    verdict: Verdict
    why: str
    causes: dict[CauseKind, int]
    """Recompiles by their main cause."""
    call_sites: tuple[CallSite, ...]

    @property
    def recompiles(self) -> int:
        return sum(self.causes.values())


@dataclass(frozen=True)
class Advice:
    """An input to declare dynamic.

    `saved` and `saved_seconds` are what would be lost by leaving out just this entry, the others
    being declared, measured by the durations in the trace; for all entries together see the totals.
    `saved` is None where no compile was recorded (a PGO profile alone).
    """

    rule: str
    frames: tuple[str, ...]
    source: str
    dim: int | None
    remedy: Remedy
    why_remedy: str
    list_entry: str | None
    """The item of the list that covers it; None if the release cannot be told."""
    code: str | None
    """The mark, a statement; None if it cannot be marked."""
    condition: str | None
    """What keeps the mark from standing before every call, in words; None if nothing does."""
    saved: Range | None
    saved_seconds: float
    values: tuple[int | str, ...]
    """Sizes, or values of the int, in the order in which compiles met them."""
    together: tuple[SourceDim, ...]
    """Inputs that the code requires to be equal to this one: all are declared, or none."""
    evidence: tuple[str, ...]
    price: tuple[str, ...]
    also_touches: tuple[str, ...]
    """Other frames that have an input of this name, where it never varied or is pinned."""

    @property
    def pair(self) -> SourceDim:
        return SourceDim(self.source, self.dim)


@dataclass(frozen=True)
class Finding:
    """Recompiles, or a risk, that no declaration of dynamic inputs cures."""

    rule: str
    frames: tuple[str, ...]
    summary: str
    fix: str
    compiles: int
    """Recompiles that it brought about."""
    seconds: float
    """Their durations in all."""
    evidence: tuple[str, ...]
