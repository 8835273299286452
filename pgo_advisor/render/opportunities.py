"""Independent changes: inputs that belong together, with one saving."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.balance import Fate, fate
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Advice, CallSite, FrameReport, Recompile, Report
from pgo_advisor.tables import Tables


@dataclass
class Opportunity:
    """Inputs to declare together. Each recompile that goes belongs to one opportunity only."""

    items: list[Advice]
    recompiles: list[Recompile]
    exact: bool
    sites: list[CallSite]
    sizes: list[tuple[str, Counter[int | str]]]
    """Sizes or values that compiles met, and in how many; for the first input of each that differ."""

    @property
    def seconds(self) -> float:
        return sum(recompile.seconds for recompile in self.recompiles)

    @property
    def frames(self) -> list[str]:
        return _all(item.frames for item in self.items)

    @property
    def costs(self) -> list[str]:
        return _all(item.costs for item in self.items)

    @property
    def also_touches(self) -> list[str]:
        return _all(item.also_touches for item in self.items)

    @property
    def evidence(self) -> list[str]:
        return _all(item.evidence for item in self.items)

    @property
    def equal(self) -> bool:
        """Whether the code requires them to be equal."""
        return any(item.together for item in self.items)


def _all(parts: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(text for part in parts for text in part))


def opportunities(report: Report, tables: Tables) -> list[Opportunity]:
    """The independent changes, by the seconds that they save."""
    frames = {frame.id: frame for frame in report.frames}
    of_frame: dict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(report.advice):
        for name in item.frames:
            of_frame[name].append(index)
    groups = _Groups(len(report.advice))
    groups.join_alike(report.advice)
    saved: list[tuple[int, Recompile]] = []
    for recompile in report.recompiles:
        members = of_frame[recompile.frame]
        gone = fate(recompile, frames.get(recompile.frame)) in (Fate.goes, Fate.may_go)
        if members and gone:
            caused = _caused(recompile, members, report.advice) or members[:1]
            groups.join(caused)
            saved.append((caused[0], recompile))
    attributed: dict[int, list[Recompile]] = defaultdict(list)
    for index, recompile in saved:
        attributed[groups.root(index)].append(recompile)
    # What saves no recorded compile by itself stands with the first input of its function.
    for index, item in enumerate(report.advice):
        if groups.root(index) not in attributed:
            groups.join([*of_frame[item.frame][:1], index])
    items: dict[int, list[Advice]] = defaultdict(list)
    gone_with: dict[int, list[Recompile]] = defaultdict(list)
    for index, item in enumerate(report.advice):
        items[groups.root(index)].append(item)
    for index, recompile in saved:
        gone_with[groups.root(index)].append(recompile)
    counts = _counts(report, tables)
    found = [
        _opportunity(members, gone_with[root], frames, counts) for root, members in items.items()
    ]
    return sorted(found, key=lambda one: (-one.seconds, -len(one.recompiles)))


def _caused(recompile: Recompile, members: Sequence[int], advice: Sequence[Advice]) -> list[int]:
    """The inputs of the advice that changed at this recompile, that of its main cause first."""
    places = {advice[index].pair: index for index in reversed(members)}
    pairs = ((cause.source, cause.dim) for cause in recompile.causes if cause.source)
    return [places[pair] for pair in dict.fromkeys(pairs) if pair in places]


class _Groups:
    """Numbers that are joined into groups."""

    def __init__(self, number: int) -> None:
        self._above = list(range(number))

    def root(self, index: int) -> int:
        while self._above[index] != index:
            self._above[index] = index = self._above[self._above[index]]
        return index

    def join(self, members: Sequence[int]) -> None:
        for index in members:
            low, high = sorted((self.root(members[0]), self.root(index)))
            self._above[high] = low

    def join_alike(self, advice: Sequence[Advice]) -> None:
        """Inputs of the same functions that have to be equal, or took the same sizes."""
        alike: dict[object, list[int]] = defaultdict(list)
        for index, item in enumerate(advice):
            alike[item.rule, item.frames, item.values].append(index)
            for pair in (item.pair, *(other.pair for other in item.together)):
                alike[item.frame, pair].append(index)
        for members in alike.values():
            self.join(members)


def _opportunity(
    items: list[Advice],
    recompiles: list[Recompile],
    frames: Mapping[str, FrameReport],
    counts: Mapping[tuple[str, str, int | None], Counter[int | str]],
) -> Opportunity:
    names = dict.fromkeys(name for item in items for name in item.frames)
    own = [frames[name] for name in names if name in frames]
    sites = dict.fromkeys(site for frame in own for site in frame.call_sites)
    return Opportunity(
        items,
        recompiles,
        all(frame.predicted.exact for frame in own),
        list(sites),
        list(_sizes(items, counts)),
    )


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
    dims: dict[str, list[int | None]] = defaultdict(list)
    for source, dim in advised:
        dims[source].append(dim)
    compiles = {
        row["compile"]: names.get((row["file"], row["line"], row["name"]))
        for row in rows(tables.compiles)
    }
    counts: dict[tuple[str, str, int | None], Counter[int | str]] = defaultdict(Counter)
    for row in rows(tables.inputs[tables.inputs["source"].isin(list(dims))]):
        name = compiles.get(row["compile"])
        for dim in dims[row["source"]] if name else ():
            if (value := _value(row, dim)) is not None:
                counts[name or "", row["source"], dim][value] += 1
    for recompile in report.recompiles:
        if recompile.causes[:1] and recompile.causes[0].kind is CauseKind.recompile_limit:
            for cause in recompile.causes:  # of the call that hit the limit no inputs are recorded
                if (cause.source, cause.dim) in advised and (cause.actual or "").isdecimal():
                    met = cause.actual or ""
                    value = met if cause.dim is None else int(met[:18])
                    counts[recompile.frame, cause.source or "", cause.dim][value] += 1
    return counts


def _value(row: Mapping[str, object], dim: int | None) -> int | str | None:
    if dim is None:
        value = row["value"]
        return None if value is None else str(value)
    size = row["size"]
    return size[dim] if isinstance(size, tuple) and dim < len(size) else None
