"""The compiles as the page shows them: each on its own, and those that are alike as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.text import kind_in_words
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Fate, Recompile, Report
from pgo_advisor.tables import Tables

FIRST = "first compile"
PHASES = ("Dynamo", "AOTAutograd", "Inductor", "backward", "other backend")


class CompileRow(NamedTuple):
    """A compile."""

    compile: int
    """The key of the table `compiles`."""
    compile_id: str
    ranks: str
    """Of the processes that it stands for, in words."""
    frame: str
    cause: str
    """Kind of its main cause in words; FIRST for a frame's first compile."""
    where: str
    """The input that its main cause is about, or nothing."""
    change: str
    more: int
    """How many causes it has besides."""
    start: float | None
    """Seconds since 1970, UTC."""
    seconds: float
    phases: tuple[float, ...]
    """Of these seconds, those of each of PHASES; what is not recorded is 0."""
    fate: Fate | None
    """None for the first compile of a function."""

    @property
    def becomes(self) -> str:
        """`needed` for a first compile, else its fate in words."""
        return self.fate.words if self.fate else "needed"

    @property
    def css(self) -> str:
        """The color of that."""
        return self.becomes.replace(" ", "-")


def compile_rows(report: Report, tables: Tables) -> list[CompileRow]:
    """All compiles in the order of the trace, of processes that compiled alike those of the first."""
    ranks = {group.logs[0]: group.label for group in report.processes}
    again = {recompile.compile: recompile for recompile in report.recompiles}
    names = {(frame.file, frame.line, frame.name): frame.id for frame in report.frames}
    return [
        _row(
            row,
            again.get(row["compile"]),
            names.get((row["file"], row["line"], row["name"]), row["name"] or "<unknown>"),
            ranks[row["log"]],
        )
        for row in rows(tables.compiles)
        if row["log"] in ranks
    ]


def _row(row: Mapping[str, Any], recompile: Recompile | None, name: str, ranks: str) -> CompileRow:
    first = CompileRow(
        compile=row["compile"],
        compile_id=row["compile_id"] or "",
        ranks=ranks,
        frame=name,
        cause=FIRST,
        where="",
        change="",
        more=0,
        start=row["start"],
        seconds=row["seconds"] or 0.0,
        phases=_phases(row),
        fate=None,
    )
    return first if recompile is None else _again(first, recompile)


def _again(row: CompileRow, recompile: Recompile) -> CompileRow:
    row = row._replace(frame=recompile.frame, fate=recompile.fate)
    if not recompile.causes:
        return row
    row = row._replace(
        cause=kind_in_words(recompile.causes[0].kind), more=len(recompile.causes) - 1
    )
    for cause in recompile.causes:
        if cause.kind is not CauseKind.recompile_limit:
            return row._replace(where=cause.where, change=cause.change)
    return row


def _phases(row: Mapping[str, Any]) -> tuple[float, ...]:
    dynamo, backend, inductor, backward = (
        row[f"{name}_seconds"] or 0.0 for name in ("dynamo", "backend", "inductor", "backward")
    )
    other = 0.0 if inductor else backend
    return dynamo, max(0.0, backend - other - inductor), inductor, backward, other


@dataclass(frozen=True)
class CompileGroup:
    """Compiles for the same cause and with the same fate, the longest first."""

    members: Sequence[CompileRow]

    @property
    def first(self) -> CompileRow:
        return self.members[0]

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.members)

    @property
    def phases(self) -> tuple[float, ...]:
        return tuple(map(sum, zip(*(row.phases for row in self.members), strict=True)))

    @property
    def frames(self) -> list[str]:
        return list(dict.fromkeys(row.frame for row in self.members))

    @property
    def inputs(self) -> list[str]:
        return list(dict.fromkeys(row.where for row in self.members if row.where))

    @property
    def changes(self) -> list[str]:
        return list(dict.fromkeys(row.change for row in self.members if row.change))


def over_functions(groups: Sequence[CompileGroup], most: int = 60) -> Sequence[CompileGroup]:
    """The groups; more than `most` of them joined over functions, then over inputs."""
    rows = [row for group in groups for row in group.members]
    for key in (_same_input, _same_cause):
        if len(groups) > most:
            groups = _grouped(rows, key)
    return groups


def over_inputs(groups: Iterable[CompileGroup]) -> list[CompileGroup]:
    """The groups with those of the same cause and fate as one."""
    return _grouped([row for group in groups for row in group.members], _same_cause)


def _same_input(row: CompileRow) -> object:
    return row.ranks, row.cause, row.where, row.fate


def _same_cause(row: CompileRow) -> object:
    return row.cause, row.fate


def grouped(found: Sequence[CompileRow]) -> list[CompileGroup]:
    """The groups of each function, the most expensive first."""
    return _grouped(found, lambda row: (row.frame, _same_input(row)))


def _grouped(
    found: Sequence[CompileRow], key: Callable[[CompileRow], object]
) -> list[CompileGroup]:
    groups: dict[object, list[CompileRow]] = defaultdict(list)
    for row in found:
        groups[key(row)].append(row)
    return sorted(
        (CompileGroup(sorted(group, key=lambda row: -row.seconds)) for group in groups.values()),
        key=lambda group: (-group.seconds, -len(group.members)),
    )


def settings(tables: Tables) -> dict[str, list[str]]:
    """What was in force in the recorded run, by the name of the setting; what is not recorded is left out."""
    compiles = tables.compiles
    found = {
        "torch.compile(dynamic=…)": compiles["dynamic"],
        "TORCH_COMPILE_DYNAMIC_SOURCES": compiles["dynamic_sources"],
        "TORCH_COMPILE_UNBACKED_SOURCES": compiles["unbacked_sources"],
        "Other settings": compiles["settings"],
    }
    return {name: _different(column) for name, column in found.items() if _different(column)}


def _different(column: pd.Series) -> list[str]:
    return [str(value) for value in column.dropna().unique() if str(value)][:8]
