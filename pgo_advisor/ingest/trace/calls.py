"""The calls that `record --calls` counted: artifacts `pgo_advisor_calls` of the compile that made the graph.

Written by `pgo_advisor/run/observer.py`, in each process; what a later one tells of the same compile and
process replaces what an earlier one told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from pgo_advisor.ingest.rows import Row

ARTIFACT = "pgo_advisor_calls"
_VERSION = 1
_MAX_SIZES = 10_000


_Count = Annotated[int, Meta(ge=0, le=1 << 53)]
_Seconds = Annotated[float, Meta(ge=0, le=1e11)]


class _Counted(msgspec.Struct):
    version: int
    pid: _Count
    calls: _Count | None = None
    timed: _Count | None = None
    seconds: _Seconds | None = None
    first: _Seconds | None = None
    last: _Seconds | None = None
    symbols: list[str] = []
    sizes: list[tuple[list[_Count], _Count]] = []
    unlisted: _Count | None = None
    eager: _Count | None = None
    place: tuple[str, _Count] | None = None


_decode = msgspec.json.Decoder(_Counted).decode


def call_rows(texts: Iterable[str]) -> tuple[list[Row], list[Row]]:
    """Rows of the tables `calls` and `call_sizes` from the artifacts of one compile.

    What is no such artifact, or is of a later version, is passed over.
    """
    graphs: dict[int, _Counted] = {}
    eager: dict[int, _Counted] = {}
    for text in texts:
        try:
            counted = _decode(text)
        except (msgspec.DecodeError, RecursionError):
            continue
        if counted.version == _VERSION:
            (graphs if counted.eager is None else eager)[counted.pid] = counted
    rows = [_row(pid, graphs.get(pid), eager.get(pid)) for pid in sorted({*graphs, *eager})]
    return rows, [row for counted in graphs.values() for row in _sizes(counted)]


def _row(pid: int, graph: _Counted | None, eager: _Counted | None) -> Row:
    row: Row = {"process": pid}
    if graph:
        row |= {
            "calls": graph.calls,
            "first": graph.first,
            "last": graph.last,
            "timed": graph.timed,
            "seconds": graph.seconds,
            "unlisted": graph.unlisted,
        }
    if eager:
        file, line = eager.place or (None, None)
        row |= {
            "eager": eager.eager,
            "eager_first": eager.first,
            "eager_file": file,
            "eager_line": line,
        }
    return row


def _sizes(counted: _Counted) -> Iterable[Row]:
    for order, (sizes, calls) in enumerate(counted.sizes[:_MAX_SIZES]):
        if len(sizes) == len(counted.symbols):
            yield {
                "process": counted.pid,
                "order": order,
                "symbols": ", ".join(counted.symbols),
                "sizes": sizes,
                "calls": calls,
            }
