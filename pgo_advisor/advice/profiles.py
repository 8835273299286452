"""Advice from PGO profiles, and from symbols in console text: what varied, not what that cost.

The profiles of several ranks and attempts are joined as PyTorch joins states: `FrameStateSizeEntry.__ior__`
and `CodeId.__eq__` in torch/_dynamo/pgo.py, by which code that moved to another path is the same code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pgo_advisor.advice.words import Evidence, Note, Said, WhyRemedy
from pgo_advisor.dynamo.sources import SourceDim, is_base
from pgo_advisor.replay.frames import UNKNOWN, rows
from pgo_advisor.report import Advice, Remedy
from pgo_advisor.report.base import listed
from pgo_advisor.tables import Tables

Location = tuple[str, int, str]
_VARIED = "?"
Size = tuple[int | None, ...] | str | None


@dataclass
class _Input:
    """The joined state of one input of one code object; None where nothing is known, `?` what varied."""

    location: Location
    source: str
    scalar: str | None = None
    size: Size = None
    is_int: bool = False

    def join(self, row: Mapping[str, Any]) -> None:
        scalar, size = {
            "tensor": (_VARIED, row["size"]),
            "scalar": (row["value"], _VARIED),
            "dynamic": (_VARIED, _VARIED),
        }[row["kind"]]
        self.scalar = scalar if self.scalar in (None, scalar) else _VARIED
        self.size = _joined(self.size, size)
        self.is_int |= (row["value"] or "").lstrip("-").isdecimal()

    def varied(self) -> Iterator[SourceDim]:
        if isinstance(self.size, tuple):
            yield from (
                SourceDim(self.source, d) for d, size in enumerate(self.size) if size is None
            )
        elif self.scalar == _VARIED and self.is_int:
            yield SourceDim(self.source, None)

    @property
    def unclear(self) -> bool:
        """Whether it is a number that varied or a tensor whose rank did: the state is the same."""
        return self.size == self.scalar == _VARIED and not self.is_int


def _joined(known: Size, seen: Size) -> Size:
    if known is None:
        return seen
    if not isinstance(known, tuple) or not isinstance(seen, tuple) or len(known) != len(seen):
        return _VARIED
    return tuple(old if old == new else None for old, new in zip(known, seen, strict=True))


@dataclass(frozen=True)
class Profile:
    """What varied in code of which no full record is at hand, with where; sentences on what is unclear."""

    pairs: dict[SourceDim, tuple[Location, ...]]
    notes: tuple[Said, ...]

    def pairs_of(self, location: Location) -> list[SourceDim]:
        """What varied in one code object."""
        return [pair for pair, places in self.pairs.items() if location in places]

    def advice(
        self, items: Mapping[SourceDim, str], but: Collection[SourceDim]
    ) -> Iterator[Advice]:
        """Advice for all pairs `but` some; `items` are the entries of the list that cover them."""
        for pair, places in self.pairs.items():
            if pair in but:
                continue
            frames = tuple(f"{name} ({file}:{line})" for file, line, name in places)
            what = "values" if pair.dim is None else "sizes"
            yield Advice(
                rule="varying-int" if pair.dim is None else "varying-dim",
                frame=frames[0],
                frames=frames,
                source=pair.source,
                dim=pair.dim,
                remedy=Remedy.dynamic_sources,
                why_remedy=str(WhyRemedy.caller_unknown()),
                list_entry=items.get(pair),
                code=None,
                saved=None,
                evidence=(str(Evidence.profile(what=what)),),
            )


def profile_of(tables: Tables, recorded: Collection[Location]) -> Profile:
    """The profiles that were given as such, less the code whose compiles are `recorded`."""
    places: dict[SourceDim, dict[Location, None]] = defaultdict(dict)
    unclear: dict[str, None] = {}
    for item in _inputs(rows(tables.pgo_entries)):
        if item.location in recorded:
            continue
        for pair in item.varied():
            places[pair][item.location] = None
        if item.unclear:
            unclear[item.source] = None
    for pair, place in _late_symbols(tables):
        places[pair][place] = None
    notes = [Note.unclear(names=listed(list(unclear), 5, ", …"))] if unclear else []
    return Profile({pair: tuple(found) for pair, found in places.items()}, tuple(notes))


def _inputs(entries: Iterable[Mapping[str, Any]]) -> Iterable[_Input]:
    inputs: dict[object, _Input] = {}
    for row in entries:
        source = row["source"]
        if row["compile"] is not None or row["kind"] == "unusual":
            continue
        if is_base(source) or "_parameters[" in source:
            continue
        location = (row["file"], row["line"], row["name"])
        file = row["file_hash"] or row["file"]
        key = (file, row["line"], row["name"], row["closure"], source)
        inputs.setdefault(key, _Input(location, source)).join(row)
    return inputs.values()


def _late_symbols(tables: Tables) -> Iterator[tuple[SourceDim, Location]]:
    """What became a symbol after the first compile of a frame that only console text tells of.

    Not what the code specializes, nor the dims of a tensor whose rank changed: all of them become symbols, to
    no avail.
    """
    compiles = {
        row["compile"]: row for row in rows(tables.compiles) if row["recorded_by"] == "console"
    }
    frame_of = {compile_: row["frame"] for compile_, row in compiles.items()}
    ranked = _of_several_ranks(tables, frame_of)
    first = dict(reversed([(frame, compile_) for compile_, frame in frame_of.items()]))
    useless = _specialized(tables, frame_of)
    late: dict[tuple[int, SourceDim], None] = {}
    for compile_, pair in _symbols(tables, frame_of):
        if compile_ == first[frame_of[compile_]]:
            useless.add((frame_of[compile_], pair))
        elif (frame_of[compile_], pair.source) not in ranked:
            late[compile_, pair] = None
    for compile_, pair in late:
        if (frame_of[compile_], pair) not in useless:
            yield pair, _location(compiles[compile_])


def _specialized(tables: Tables, frame_of: Mapping[int, int]) -> set[tuple[int, SourceDim]]:
    """What the code of a frame required to be a constant."""
    return {
        (frame_of[row["compile"]], SourceDim(row["source"], row["dim"]))
        for row in rows(tables.specializations)
        if row["compile"] in frame_of
    }


def _location(row: Mapping[str, Any]) -> Location:
    return row["file"] or UNKNOWN, row["line"] or 0, row["name"] or UNKNOWN


def _symbols(tables: Tables, compiles: Container[int]) -> Iterator[tuple[int, SourceDim]]:
    for row in rows(tables.symbols):
        sized = row["kind"] in {"size", "int"} and not is_base(row["source"])
        if sized and row["compile"] in compiles:
            yield row["compile"], SourceDim(row["source"], row["dim"])


def _of_several_ranks(tables: Tables, frame_of: Mapping[int, int]) -> set[tuple[int, str]]:
    """Tensors of frames that had several numbers of dims."""
    ranks: dict[tuple[int, str], set[int]] = defaultdict(set)
    for row in rows(tables.inputs):
        if row["compile"] in frame_of and row["size"] is not None:
            ranks[frame_of[row["compile"]], row["source"]].add(len(row["size"]))
    return {tensor for tensor, found in ranks.items() if len(found) > 1}
