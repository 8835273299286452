"""What a program is tried with: entries of the list, or marks in a copy of its source."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pgo_advisor.analysis import Analysis
from pgo_advisor.dynamo.source_list import entries_of
from pgo_advisor.patch import make_patch
from pgo_advisor.patch.mirror import Mirror
from pgo_advisor.patch.result import Patch, Site
from pgo_advisor.report import Advice
from pgo_advisor.report.measured import Way
from pgo_advisor.verify.runner import Function, Runner, RunResult

LIST = "TORCH_COMPILE_DYNAMIC_SOURCES"
_MAX_PLACES = 3


class Candidate(Protocol):
    """Something that can be tried in part. `items` name the parts; `entries` are those for the list."""

    way: Way
    items: list[str]
    entries: list[str]

    @property
    def patch(self) -> Patch | None:
        """What all items change in the source; None for a list."""

    def run(self, items: Sequence[str], label: str) -> RunResult:
        """A run with some of the items, its functions named as in the user's files."""

    def original(self, function: Function) -> Function:
        """The user's function for one that the trace of a run with all items names."""

    def missed(self, seen: Analysis) -> list[Path]:
        """The user's files that ran in the place of changed ones, by the analysis of a run with all items."""

    def notes(self) -> Iterator[str]:
        """What has to be known of the items, in sentences."""


class Entries:
    """A list, as the variable holds it."""

    way = Way.list
    patch = None

    def __init__(self, runner: Runner, value: str) -> None:
        self._runner = runner
        self.items = self.entries = _not_in_force(value)

    def run(self, items: Sequence[str], label: str) -> RunResult:
        return self._runner.run(_variable(items), label)

    def original(self, function: Function) -> Function:
        return function

    def missed(self, seen: Analysis) -> list[Path]:
        return []

    def notes(self) -> Iterator[str]:
        yield from ()


class Marks:
    """The marks of an analysis in the files in `root`, and entries for what gets none."""

    way = Way.mark

    def __init__(self, runner: Runner, analysis: Analysis, root: Path | None) -> None:
        self._runner = runner
        self._analysis = analysis
        self.patch: Patch = analysis.patch(root=root)
        self._mirror = Mirror(self.patch.root, runner.scratch / "copy")
        self._unmarked: list[Advice] = []
        self.marks: dict[str, Advice] = {}
        for item in analysis.advice:
            if sites := self.patch.marked(item):
                self.marks[self._name(item, sites)] = item
            else:
                self._unmarked.append(item)
        marked = {item.list_entry for item in self.marks.values()}
        marked -= {item.list_entry for item in self._unmarked}
        entries = _not_in_force(analysis.dynamic_sources)
        self.entries = [entry for entry in entries if entry not in marked]
        self.items = [*self.marks, *self.entries] if self.patch.files else []

    def _name(self, item: Advice, sites: Sequence[Site]) -> str:
        """`L['x'] dim 0 in f at train.py:12`."""
        places = dict.fromkeys(
            f"{os.path.relpath(site.path or site.file, self.patch.root)}:{site.found_line}"
            for site in sites
        )
        shown = ", ".join([*places][:_MAX_PLACES]) + (", …" if len(places) > _MAX_PLACES else "")
        return f"{item.pair.words} in {', '.join(item.frames)} at {shown}"

    def run(self, items: Sequence[str], label: str) -> RunResult:
        advice = tuple(self.marks[item] for item in items if item in self.marks)
        analysis = self._analysis
        patch = make_patch(analysis.frames, advice, analysis.tables, root=self.patch.root)
        variables = _variable([item for item in items if item not in self.marks])
        with self._mirror.copy(patch.files):
            variables |= self._mirror.variables(patch.files)
            result = self._runner.run(variables, label, self._mirror)
        compiles: Counter[Function] = Counter()
        seconds: dict[Function, float] = defaultdict(float)
        for function, number in result.compiles.items():
            original = self._original(function, patch)
            compiles[original] += number
            seconds[original] += result.seconds[function]
        return replace(result, compiles=compiles, seconds=dict(seconds))

    def original(self, function: Function) -> Function:
        return self._original(function, self.patch)

    def _original(self, function: Function, patch: Patch) -> Function:
        file = self._mirror.original(function.file)
        line = function.line
        for changed in patch.files if file != function.file else ():
            if Path(file).resolve() == changed.path:
                line = changed.line_before(line)
        return Function(function.name, file, line)

    def missed(self, seen: Analysis) -> list[Path]:
        named = {frame.file for frame in seen.frames}
        named |= {site.file for frame in seen.frames for site in frame.call_sites}
        files = set(map(os.path.realpath, named))
        changed = [file.path for file in self.patch.files if str(file.path) in files]
        return [path for path in changed if self._mirror.path(str(path)) not in files]

    def notes(self) -> Iterator[str]:
        for item in self._unmarked:
            instead = (
                f"was tried as the list entry {item.list_entry}"
                if item.list_entry
                else "was not tried: the list cannot name it"
            )
            why = "no call of it gets a mark" if item.code else item.why_remedy
            yield f"{item.pair.words} in {', '.join(item.frames)} {instead}, since {why}."
        for site in self.patch.sites:
            for reason in site.reasons:
                yield f"Not marked where {site.file}:{site.line} calls {site.frame}: {reason}."


def _not_in_force(value: str) -> list[str]:
    """The entries of a list less those that the user has set: these are in all runs."""
    in_force = entries_of(os.environ.get(LIST, ""))
    return [entry for entry in entries_of(value) if entry not in in_force]


def _variable(entries: Iterable[str]) -> dict[str, str]:
    return {LIST: ",".join([*filter(None, [os.environ.get(LIST, "")]), *entries])}
