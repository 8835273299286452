"""The cards of the opportunities: where these functions are called, and which sizes they met."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.groups import Alike
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Advice, CallSite, Opportunity, Report
from pgo_advisor.tables import Tables


@dataclass(frozen=True)
class Card(Alike):
    """An opportunity with what the page tells of it besides."""

    change: Opportunity
    sites: list[CallSite]
    sizes: list[tuple[str, Counter[int | str]]]
    """Sizes or values that compiles met, and in how many; for the first input of each that differ."""


def cards(report: Report, tables: Tables) -> list[Card]:
    """A card for each of the report's opportunities."""
    frames = {frame.id: frame for frame in report.frames}
    counts = _counts(report, tables)
    found = []
    for change in report.opportunities:
        items = tuple(report.advice[index] for index in change.advice)
        own = (frames[name] for name in change.frames if name in frames)
        sites = dict.fromkeys(site for frame in own for site in frame.call_sites)
        found.append(Card(items, change, list(sites), list(_sizes(items, counts))))
    return found


def _sizes(
    items: Iterable[Advice], counts: Mapping[tuple[str, str, int | None], Counter[int | str]]
) -> Iterator[tuple[str, Counter[int | str]]]:
    shown = set()
    for item in items:
        met = Counter[int | str](dict.fromkeys(item.values, 0))
        for name in item.frames:
            met.update(counts.get((name, item.source, item.dim), {}))
        key = tuple(sorted(map(str, met)))
        if met and key not in shown:
            shown.add(key)
            yield item.pair.words, met


def _counts(
    report: Report, tables: Tables
) -> dict[tuple[str, str, int | None], Counter[int | str]]:
    """How many compiles met which size, by function, source and dim; None is the dim of an int."""
    names = {(frame.file, frame.line, frame.name): frame.id for frame in report.frames}
    advised = {item.pair for item in report.advice}
    compiles = {
        row["compile"]: names.get((row["file"], row["line"], row["name"]), "")
        for row in rows(tables.compiles)
    }
    dims: dict[str, list[int | None]] = defaultdict(list)
    for source, dim in advised:
        dims[source].append(dim)
    counts: dict[tuple[str, str, int | None], Counter[int | str]] = defaultdict(Counter)
    for row in rows(tables.inputs[tables.inputs["source"].isin(list(dims))]):
        for dim in dims[row["source"]]:
            if (value := _value(row, dim)) is not None:
                counts[compiles.get(row["compile"], ""), row["source"], dim][value] += 1
    for key, value in _at_the_limit(report):
        if key[1:] in advised:
            counts[key][value] += 1
    return counts


def _at_the_limit(report: Report) -> Iterator[tuple[tuple[str, str, int | None], int | str]]:
    """What calls brought that hit the recompile limit; of these no inputs are recorded."""
    for recompile in report.recompiles:
        if recompile.causes[:1] and recompile.causes[0].kind is CauseKind.recompile_limit:
            for cause in recompile.causes:
                met = cause.actual or ""
                if met.isdecimal():
                    value = met if cause.dim is None else int(met[:18])
                    yield (recompile.frame, cause.source or "", cause.dim), value


def _value(row: Mapping[str, object], dim: int | None) -> int | str | None:
    if dim is None:
        value = row["value"]
        return None if value is None else str(value)
    size = row["size"]
    return size[dim] if isinstance(size, tuple) and dim < len(size) else None
