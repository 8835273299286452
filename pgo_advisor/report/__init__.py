"""The whole result as plain typed data. The JSON and its schema are made from these classes.

Seconds are wall time, as the trace gives it. A sentence is English, and may hold names as they were recorded.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.report.base import Code, Part, Range, runs_in_words
from pgo_advisor.report.calls import FunctionCalls
from pgo_advisor.report.facts import (
    Consequence,
    Fate,
    Opportunity,
    Process,
    Severity,
    Sureness,
)
from pgo_advisor.report.measured import Measured

__all__ = [
    "Advice",
    "CallSite",
    "Cause",
    "Consequence",
    "Fate",
    "Finding",
    "FrameReport",
    "FunctionCalls",
    "Input",
    "Measured",
    "Opportunity",
    "Part",
    "Process",
    "ProcessGroup",
    "Range",
    "Recompile",
    "Remedy",
    "Report",
    "Severity",
    "Sureness",
    "Totals",
    "Unexpressible",
    "UserLine",
    "Verdict",
    "runs_in_words",
]


class Totals(Part, frozen=True, rename={"predicted": "predicted_compiles"}):
    """Sums over all logs."""

    compiles: int = 0
    recompiles: int = 0
    seconds: float = 0.0
    """Of all compiles, added up."""
    recompile_seconds: float = 0.0
    predicted: Range = Range(0, 0)
    """Compiles with all of the advice."""
    saved_seconds: float = 0.0
    """Of the recompiles that go or may go with the advice."""
    unknown_causes: int = 0
    unfinished: int = 0
    """Compiles within which the log ends."""
    least_saved_seconds: float = 0.0
    """What `saved_seconds` is at the least, where the prediction is a range."""
    processes_compiling: int = 0
    """That compiled something; the seconds of several are rank-seconds, since they compile at once."""
    slowest: Process | None = None
    """The one of them that compiled longest."""


class Verdict(Code):
    """What can be done about a frame's recompiles."""

    marking_helps = "marking-helps"
    marking_does_not_help = "marking-does-not-help"
    nothing_to_do = "nothing-to-do"


class Remedy(str, Enum):
    """How an input is declared dynamic. The list entry works in each case."""

    mark_dynamic = "mark_dynamic"
    maybe_mark_dynamic = "maybe_mark_dynamic"
    dynamic_sources = "dynamic_sources"
    """Only the list: the input cannot be marked from outside the compiled code."""


class Cause(Part, frozen=True):
    """One thing that changed between an earlier graph and the call that it refused."""

    kind: CauseKind
    """See pgo-advisor explain."""
    source: str | None = None
    dim: int | None = None
    expected: str | None = None
    actual: str | None = None
    text: str | None = None
    """PyTorch's reason, verbatim; null for what the inputs show and no reason names."""
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


class UserLine(Part, frozen=True):
    """A line of the user's own code."""

    file: str
    """As it was recorded; where PyTorch shortened it and no record has the whole, the end of it."""
    line: int
    code: str | None = None

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


class Recompile(Part, frozen=True):
    """A compile of a frame that had been compiled before."""

    hidden = frozenset({"compile", "log"})

    compile: int
    """The key of the table `compiles`."""
    log: int
    compile_id: str
    rank: int | None
    frame: str
    causes: tuple[Cause, ...]
    """The main one first."""
    start: float | None
    """Seconds since 1970, UTC."""
    seconds: float
    removed: bool
    """Whether the advice is predicted to remove it."""
    fate: Fate = Fate.stays
    """The same with how sure that is; the call that hit the limit goes with the compiles before it."""


class CallSite(Part, frozen=True):
    """The statement of the user's own code that calls a compiled function."""

    hidden = frozenset({"through"})

    file: str
    line: int
    code: str | None
    through: str | None
    """The file of library code that it calls, if that makes the call itself, with arguments of its own."""


class FrameReport(Part, frozen=True, rename={"predicted": "predicted_compiles"}):
    """A compiled code object, over all logs."""

    id: str
    name: str
    file: str
    line: int
    ranks: tuple[int | None, ...]
    compiles: int
    seconds: float
    predicted: Range
    """Compiles with the advice."""
    unsure: tuple[str, ...]
    """Why the prediction is a range; empty if it is exact."""
    saved_seconds: float
    """Of the recompiles that go or may go."""
    verdict: Verdict
    why: str
    causes: dict[CauseKind, int]
    """Recompiles by their main cause."""
    call_sites: tuple[CallSite, ...]

    @property
    def recompiles(self) -> int:
        return sum(self.causes.values())


class Input(Part, frozen=True):
    """A dim of a tensor, or an int: then `dim` is null."""

    source: str
    dim: int | None

    @property
    def pair(self) -> SourceDim:
        return SourceDim(self.source, self.dim)


class Unexpressible(Input, frozen=True):
    """What the release's list cannot be told."""

    why: str


class Advice(
    Input, frozen=True, kw_only=True, rename={"saved": "saved_compiles", "costs": "price"}
):
    """An input to declare dynamic.

    `saved_compiles` and `saved_seconds` are what would be lost by leaving out just this entry, the others
    being declared, measured by the durations in the trace; for all entries together see the totals.
    """

    rule: str
    frame: str
    """The first of `frames`."""
    frames: tuple[str, ...]
    remedy: Remedy
    why_remedy: str
    list_entry: str | None
    """The item of the list that covers it; null if the release cannot be told."""
    code: str | None
    """The mark, a statement; null if it cannot be marked."""
    condition: str | None = None
    """What keeps the mark from standing before every call; null if nothing does."""
    saved: Range | None
    """Null where no compile was recorded (a PGO profile alone)."""
    saved_seconds: float = 0.0
    values: tuple[int | str, ...] = ()
    """Sizes, or values of the int, in the order in which compiles met them."""
    together: tuple[Input, ...] = ()
    """Inputs that the code requires to be equal to this one: all are declared, or none."""
    evidence: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()
    """Why the declaration may cost something, in sentences."""
    also_touches: tuple[str, ...] = ()
    """Other frames that have an input of this name, where it never varied or is pinned."""


class Finding(Part, frozen=True):
    """Recompiles, or a risk, that no declaration of dynamic inputs cures."""

    rule: str
    frames: tuple[str, ...]
    summary: str
    fix: str
    compiles: int
    """Recompiles that it brought about. Each counts once: with the finding of its main cause."""
    seconds: float
    """Their durations in all."""
    evidence: tuple[str, ...]
    lines: tuple[UserLine, ...] = ()
    """The user's lines that bring it about, as far as the record tells them."""

    @property
    def consequence(self) -> Consequence | None:
        """What it tells of that is worse than a recompile."""
        return {
            "recompile-limit": Consequence.runs_uncompiled,
            "failed-compile": Consequence.compile_failed,
        }.get(self.rule)


class ProcessGroup(Part, frozen=True):
    """Processes that compiled the same functions in the same order and for the same causes.

    Sizes and durations may differ.
    """

    logs: tuple[int, ...]
    """Indexes into `logs`; the first stands for all."""
    ranks: tuple[int, ...]
    """Of these processes, as far as they have one."""
    compiles: int
    """Of each process."""
    differs: tuple[str, ...]
    """What tells the group from the largest."""

    @property
    def label(self) -> str:
        """Its ranks, as `0 to 6, 9, …`: not all of many; empty if none is known."""
        return runs_in_words(self.ranks, most=16)


class Report(Part, frozen=True, kw_only=True):
    """What a run left behind means, and the advice from it."""

    schema_version: Literal[1] = 1
    """Raised when a field changes its meaning or goes; new fields do not raise it."""
    torch_version: str | None = None
    """The PyTorch release that the advice is for; null if neither the trace nor the caller told."""
    logs: tuple[str, ...] = ()
    """What each log was, by the tables' column `log`."""
    losses: tuple[str, ...] = ()
    """What could not be read, in sentences."""
    notes: tuple[str, ...] = ()
    """What the reader has to know of the advice, in sentences."""
    totals: Totals = Totals()
    dynamic_sources: str = ""
    """The value of TORCH_COMPILE_DYNAMIC_SOURCES; empty if nothing is to be declared.

    What the list held in the recorded run stays in it: that run shows no need of it, since it works.
    """
    unbacked_sources: str = ""
    """An option: the value of TORCH_COMPILE_UNBACKED_SOURCES for inputs with sizes 0 or 1."""
    dynamic_sources_beside_unbacked: str = ""
    """What TORCH_COMPILE_DYNAMIC_SOURCES is with that option."""
    unbacked_saves: int = 0
    """Further compiles that the option saves at most: whether code asks for these sizes, and so breaks the
    graph, a trace does not show."""
    unexpressible: tuple[Unexpressible, ...] = ()
    frames: tuple[FrameReport, ...] = ()
    """Compiled functions with their verdicts, the most expensive first."""
    recompiles: tuple[Recompile, ...] = ()
    """Every recompile with its causes, in time."""
    advice: tuple[Advice, ...] = ()
    """What to declare dynamic, the most valuable first."""
    opportunities: tuple[Opportunity, ...] = ()
    """The advice as changes that stand by themselves, the most valuable first."""
    severities: tuple[Severity, ...] = ()
    """What is worse than a recompile."""
    findings: tuple[Finding, ...] = ()
    """What no declaration cures, the most expensive first."""
    processes: tuple[ProcessGroup, ...] = ()
    """The processes in groups of those that compiled alike, the largest first."""
    calls: tuple[FunctionCalls, ...] = ()
    """The calls of compiled functions, the most often called first; empty unless they were counted."""
    measured: Measured | None = None
    """What runs of the program without and with the advice showed; null if there were none."""

    @property
    def release(self) -> TorchRelease | None:
        return None if self.torch_version is None else TorchRelease.parse(self.torch_version)

    @property
    def sureness(self) -> Sureness:
        """How the saving is known."""
        if self.measured is not None:
            return Sureness.measured
        if not (self.advice and self.totals.compiles):
            return Sureness.unknown
        return Sureness.exact if self.totals.predicted.exact else Sureness.range

    @property
    def uncured(self) -> tuple[Finding, ...]:
        """The findings but those of a recompile limit that the advice may cure."""
        cured = {
            frame
            for one in self.severities
            if one.kind is Consequence.runs_uncompiled and one.may_be_cured
            for frame in one.frames
        }
        return tuple(
            found
            for found in self.findings
            if found.consequence is not Consequence.runs_uncompiled
            or not cured.issuperset(found.frames)
        )

    @property
    def inputs(self) -> int:
        """How many inputs are to be declared; one of several functions counts once."""
        return len({item.pair for item in self.advice})

    @property
    def shown_recompiles(self) -> tuple[tuple[str, Recompile], ...]:
        """The recompiles of one process of each group, with the ranks of the group, as `label` has them."""
        ranks = {group.logs[0]: group.label for group in self.processes}
        return tuple((ranks[r.log], r) for r in self.recompiles if r.log in ranks)
