"""What the reader has to know of the advice as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pgo_advisor.advice.words import Note, Said
from pgo_advisor.report import Advice
from pgo_advisor.report.base import listed
from pgo_advisor.tables import Tables


def lists_in_force(tables: Tables) -> list[str]:
    """The lists of dynamic sources under which the recorded compiles ran, where the trace tells."""
    recorded = tables.compiles["dynamic_sources"].dropna().unique().tolist()
    return [value for value in recorded if value]


def of_run(tables: Tables) -> Iterator[Said]:
    """Of the recorded run."""
    yield from (Note.in_force(value=value) for value in lists_in_force(tables))
    if tables.compiles.drop_duplicates("log")["rank"].duplicated().any():
        yield Note.same_rank()


def of_names(advice: Iterable[Advice]) -> Iterator[Said]:
    """Of what the list touches, since it works by name."""
    touching = [item for item in advice if item.also_touches and item.list_entry]
    if touching:
        yield _touches(touching)


def _touches(touching: Sequence[Advice]) -> Said:
    frames = list(dict.fromkeys(name for advice in touching for name in advice.also_touches))
    by_mark = all(advice.code for advice in touching)
    return Note.touches(
        entries=", ".join(dict.fromkeys(advice.list_entry or "" for advice in touching[:4])),
        frames=listed(frames, 4, " and {} more"),
        marks="; marks in the code (pgo-advisor snippet) do not" if by_mark else "",
    )


def of_record(tables: Tables) -> Iterator[Said]:
    """Of what the record does not tell."""
    if (tables.compiles["recorded_by"] == "console").any():
        yield Note.console()
    if not len(tables.compiles):
        yield Note.profile_alone()
