"""Runs a program without and with advice, and says whether the advice held."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from pgo_advisor.analysis import Analysis, analyze
from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.dynamo.source_list import parse
from pgo_advisor.errors import PgoAdvisorError
from pgo_advisor.patch.result import Patch
from pgo_advisor.report.measured import FrameMeasured, Measured, Outcome, Side, Spread, Way
from pgo_advisor.verify.candidates import LIST, Candidate, Entries, Marks
from pgo_advisor.verify.expectation import Expectation, expectation_from
from pgo_advisor.verify.minimize import smallest
from pgo_advisor.verify.runner import Runner, RunResult

_MAX_CULPRITS = 3
_NOISE = 0.03
"""Two runs of the same program differ so much for reasons of the machine."""


@dataclass(frozen=True)
class Verified:
    """The analysis of the first run, with `measured` where there was advice to verify."""

    analysis: Analysis | None
    """None where the program compiled nothing."""
    exit_code: int
    """The program's, of its first run."""
    patch: Patch | None = None
    """The marks, if these were to be verified; where it changes no file, nothing was."""


def verify(
    command: Sequence[str],
    advice: Expectation | None = None,
    *,
    way: Way = Way.list,
    root: Path | None = None,
    runs: int = 2,
    compare: str | None = None,
    timeout: float | None = None,
    minimize: bool = False,
    say: Callable[[str], None] | None = None,
) -> Verified:
    """Runs `command` `runs` times without and with `advice`, in turn, each with fresh caches.

    Without `advice` it is what the first run gives. It is tried as the list, or as marks in a copy of the
    files in `root` (default: as `pgo_advisor.patch.make_patch` has it). `compare` is a shell command that
    runs after each run, and whose output is to be the same. `timeout` is in seconds for a run. `minimize`
    looks for the smallest part with the same effect. Raises PgoAdvisorError.
    """
    if way is Way.mark and advice is not None and advice.analysis is None:
        raise PgoAdvisorError(
            "a JSON report does not tell where the marks go; for --with mark give the trace as --advice"
        )
    with Runner(command, compare=compare, timeout=timeout, say=say) as runner:
        first = runner.run({}, f"without {way.what}")
        if not first.total:
            return Verified(None, first.recorded.exit_code)
        analysis = analyze(*first.recorded.logs)
        expected = advice or expectation_from(analysis)
        candidate: Candidate
        if way is Way.mark and expected.analysis:
            candidate = Marks(runner, expected.analysis, root)
        else:
            candidate = Entries(runner, expected.dynamic_sources)
        if candidate.items:
            comparison = Comparison(runner, candidate, expected, analysis, first)
            comparison.run(runs)
            analysis = replace(analysis, measured=comparison.measured(minimize=minimize))
        return Verified(analysis, first.recorded.exit_code, candidate.patch)


class Comparison:
    """Runs of the two sides, and what follows from them."""

    def __init__(
        self,
        runner: Runner,
        candidate: Candidate,
        expected: Expectation,
        analysis: Analysis,
        first: RunResult,
    ) -> None:
        self.runner = runner
        self.candidate = candidate
        self.expected = expected
        self.analysis = analysis
        self.before = [first]
        self.after: list[RunResult] = []
        self.notes: list[str] = []

    def run(self, runs: int) -> None:
        what = self.candidate.way.what
        self.after.append(self.candidate.run(self.candidate.items, f"with {what}"))
        while len(self.before) < runs:
            self.before.append(self.runner.run({}, f"without {what}"))
            if not self.bad(self.after[0]):
                self.after.append(self.candidate.run(self.candidate.items, f"with {what}"))

    @cached_property
    def seen(self) -> Analysis | None:
        """The analysis of the first run with the advice."""
        result = self.after[0]
        logs = result.recorded.logs
        return analyze(*logs) if logs and result.total else None

    def bad(self, result: RunResult) -> bool:
        """Whether the program did something else than in any run without the advice."""
        return self.broke(result) or self.differs(result)

    def broke(self, result: RunResult) -> bool:
        return result.recorded.ended.status not in {t.recorded.ended.status for t in self.before}

    def differs(self, result: RunResult) -> bool:
        results = {t.compared for t in self.before}
        return len(results) == 1 and result.compared not in results

    def measured(self, *, minimize: bool) -> Measured:
        outcome, why = self.outcome()
        broken_by: list[str] = []
        useless = self.named_in_vain()
        fewest = None
        if outcome in (Outcome.broke, Outcome.differs):
            broken_by, fewest = self.culprits()
            if not broken_by:
                nothing = {Way.list: "with an empty list", Way.mark: "in a copy without marks"}
                outcome = Outcome.not_comparable
                why = f"the program does something else {nothing[self.candidate.way]}, too"
        elif minimize and outcome in (Outcome.held, Outcome.less_than_predicted):
            kept = self.minimize()
            fewest = kept
            useless = [item for item in self.candidate.items if item not in kept]
        self.remark()
        tables = self.analysis.tables
        patch = self.candidate.patch
        versions = [*tables.compiles["torch_version"].dropna().unique(), None]
        return Measured(
            outcome=outcome,
            why=why,
            notes=tuple(dict.fromkeys(self.notes)),
            way=self.candidate.way,
            dynamic_sources=",".join(self.candidate.entries),
            marks=tuple(
                item for item in self.candidate.items if item not in self.candidate.entries
            ),
            diff="" if patch is None else patch.diff.decode("utf-8", "replace"),
            files=() if patch is None else tuple(file.name for file in patch.files),
            predicted=self.expected.total,
            before=_side(self.before),
            after=_side(self.after),
            frames=tuple(self.frames()),
            unforeseen=tuple(self.unforeseen()),
            broken_by=tuple(broken_by),
            useless=tuple(useless),
            smallest=None if fewest is None else self.candidate.way.joined(fewest),
            runs=self.runner.runs,
            machine=_machine(),
            torch_version=versions[0],
            when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )

    def outcome(self) -> tuple[Outcome, str]:
        before, after = ([result.total for result in side] for side in (self.before, self.after))
        walls = _side(self.before).wall, _side(self.after).wall
        counts = f"{_range(before)} compiles became {_range(after)}"
        if any(result.recorded.timed_out for result in self.before):
            return Outcome.not_comparable, "without the advice it did not end in the time given"
        if self.seen and (files := self.candidate.missed(self.seen)):
            self.notes.append(
                f"The program is started, or imports, in a way that leads to {', '.join(map(str, files))}."
            )
            return (
                Outcome.not_comparable,
                "the program ran the original of a file and not the copy that has the marks",
            )
        if any(self.broke(result) for result in self.after):
            codes = [
                "no end in the time given"
                if result.recorded.timed_out
                else f"exit code {result.recorded.ended.exit_code}"
                for result in (self.before[0], next(t for t in self.after if self.broke(t)))
            ]
            return (
                Outcome.broke,
                f"it breaks the program: {codes[0]} without it, {codes[1]} with it",
            )
        if any(self.differs(result) for result in self.after):
            return Outcome.differs, "the comparison shows another result with the advice"
        if max(after) >= min(before):
            if len({*before}) > 1 or len({*after}) > 1:
                return (
                    Outcome.not_comparable,
                    f"the program does not compile the same each time: {counts}",
                )
            return Outcome.no_help, f"it did not help: {counts}"
        if _slower(*walls):
            return (
                Outcome.costs_more,
                f"it costs more than it saves: {counts}, but the program took {walls[0].middle:.1f} s "
                f"without it and {walls[1].middle:.1f} s with it",
            )
        predicted = self.expected.total
        if predicted and predicted.high is not None and max(after) > predicted.high:
            return (
                Outcome.less_than_predicted,
                f"it saves less than predicted: {counts}, {predicted.high} were predicted",
            )
        return Outcome.held, f"it held: {counts}"

    def culprits(self) -> tuple[list[str], list[str] | None]:
        """The items that do the harm, and those without them if they do none."""
        rest, found = self.candidate.items, []
        for _ in range(_MAX_CULPRITS):
            fewest = smallest(
                rest,
                lambda some: self.bad(
                    self.candidate.run(some, f"what breaks it? {len(some)} of it")
                ),
            )
            found += fewest
            rest = [item for item in rest if item not in fewest]
            if not fewest or not rest:
                break
            without = self.candidate.run(rest, "without what breaks it")
            if not self.bad(without):
                self.notes.append(
                    f"With the rest the program does as before, with {without.total} compiles."
                )
                return found, rest
        return found, None

    def minimize(self) -> list[str]:
        most = max(result.total for result in self.after)

        def enough(some: Sequence[str]) -> bool:
            result = self.candidate.run(some, f"enough? {len(some)} of {len(self.candidate.items)}")
            return not self.bad(result) and result.total <= most

        return smallest(self.candidate.items, enough)

    def named_in_vain(self) -> list[str]:
        """Entries that are the name of no input. Patterns are not tried: they could take for ever."""
        names = set(self.analysis.tables.inputs["source"].dropna())
        plain = re.compile(r"(?:\w|\.|\[\d+\]|\['\w+'\])+")
        return [
            entry
            for entry in self.candidate.entries
            for pattern, _ in parse(entry, self._release)
            if plain.fullmatch(pattern) and pattern not in names
        ]

    @property
    def _release(self) -> TorchRelease | None:
        return self.analysis.release

    def frames(self) -> Iterator[FrameMeasured]:
        functions = dict.fromkeys(
            f for result in (*self.before, *self.after) for f in result.compiles
        )
        for function in functions:
            yield FrameMeasured(
                *function,
                predicted=self.expected.predicted.get(function),
                before=tuple(result.compiles[function] for result in self.before),
                after=tuple(result.compiles[function] for result in self.after),
                seconds_before=Spread(tuple(t.seconds.get(function, 0.0) for t in self.before)),
                seconds_after=Spread(tuple(t.seconds.get(function, 0.0) for t in self.after)),
            )

    def unforeseen(self) -> Iterator[str]:
        if self.expected.left is None or self.seen is None:
            return
        causes = {
            (self.candidate.original(function), kind, source, dim)
            for function, kind, source, dim in expectation_from(self.seen).causes
        }
        for function, kind, source, dim in sorted(causes - self.expected.left, key=str):
            place = "" if source is None else f" {source}" + ("" if dim is None else f" dim {dim}")
            yield f"{function.name}: {kind}{place}"

    def remark(self) -> None:
        what = self.candidate.way.what
        self.notes += self.candidate.notes()
        for result in (*self.before, *self.after):
            self.notes += result.recorded.notes
        if os.environ.get(LIST):
            self.notes.append(f"{LIST} is set: its entries were in force in all runs.")
        if len(self.before) == 1:
            self.notes.append("One run each: whether the figures vary is not known; give --runs.")
        for side, name in ((self.before, "without"), (self.after, "with")):
            if any(result.compiles != side[0].compiles for result in side):
                self.notes.append(
                    f"The program is not deterministic: its runs {name} {what} compiled differently."
                )
        before, after = _side(self.before), _side(self.after)
        if _slower(before.rest, after.rest):
            self.notes.append(
                f"Outside of compiling it took {before.rest.middle:.1f} s without {what} and "
                f"{after.rest.middle:.1f} s with it: what is dynamic runs slower."
            )
        results = {result.compared for result in self.before}
        if len(results) > 1:
            self.notes.append("--compare gives something else after each run: it shows nothing.")
        elif results != {None} and results == {result.compared for result in self.after}:
            self.notes.append(f"--compare gives the same without and with {what}.")
        outputs = {result.output for result in self.before}
        if len(self.before) > 1 and len(outputs) == 1 and self.after[0].output not in outputs:
            self.notes.append(f"What it writes on standard output is not the same with {what}.")


def _side(results: Sequence[RunResult]) -> Side:
    return Side(
        compiles=tuple(result.total for result in results),
        compile_seconds=Spread(tuple(sum(result.seconds.values()) for result in results)),
        wall=Spread(tuple(result.recorded.ended.seconds for result in results)),
        rest=Spread(tuple(result.recorded.ended.seconds - result.longest for result in results)),
        exit_codes=tuple(result.recorded.ended.exit_code for result in results),
    )


def _slower(before: Spread, after: Spread) -> bool:
    """Whether all runs after took longer than all before, by more than either varies, and than chance."""
    varies = max(before.high - before.low, after.high - after.low, _NOISE * before.middle)
    return len(before) > 1 and len(after) > 1 and after.low - before.high > varies


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        info = ""
    if found := re.search(r"^model name\s*: (.*)$", info, re.MULTILINE):
        model = found[1]
    return f"{model}, {os.cpu_count()} CPUs, {platform.system()} {platform.machine()}"
