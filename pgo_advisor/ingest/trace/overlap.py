"""Leaves out what console text repeats of compiles that a trace has recorded in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pgo_advisor.ingest.trace.rows import LogRows, Row


def without_recorded(console: LogRows, traces: Iterable[tuple[int | None, LogRows]]) -> LogRows:
    """The console's rows less the frames that one of the traces, each with its rank, has, too.

    A frame is the same if its compile ids, its name and its place agree, as far as the text tells them.
    """
    traced = list(traces)
    recorded = [
        (rank, row) for rank, log in traced for row in log.rows.get("compiles", ()) if row["name"]
    ]
    symbols = {symbol for _, log in traced for _, symbol in _symbols(log)}
    compiles = console.rows.get("compiles", [])
    frames: dict[int, list[Row]] = {}
    for row in compiles:
        frames.setdefault(row["frame"], []).append(row)
    foreign = {frame for frame, symbol in _symbols(console) if symbol not in symbols}
    known = {
        frame
        for frame, rows in frames.items()
        if (rows[-1]["name"] or frame not in foreign)
        and any(_same(rows[-1], row, rank) for rank, row in recorded)
    }
    if not known:
        return console
    kept = [row for row in compiles if row["frame"] not in known]
    keys = {row["compile"]: key for key, row in enumerate(kept)}
    numbers: dict[int, int] = {}
    rows: dict[str, list[Row]] = {}
    for table, own in console.rows.items():
        rows[table] = [row for row in own if row["compile"] in keys]
        for row in rows[table]:
            row["compile"] = keys[row["compile"]]
            if row.get("against") is not None:
                row["against"] = keys[row["against"]]
            if "frame" in row:
                row["frame"] = numbers.setdefault(row["frame"], len(numbers))
    told = f"{len(compiles) - len(kept)} of {len(compiles)} compiles are in the trace, too, with more detail"
    return LogRows(rows, console.rank, console.losses, [told])


def _symbols(log: LogRows) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """The frame of each symbol, and what tells it apart: compile id, name and value."""
    compiles = {row["compile"]: row for row in log.rows.get("compiles", ())}
    for row in log.rows.get("symbols", ()):
        compile_ = compiles[row["compile"]]
        yield compile_["frame"], (compile_["compile_id"], row["name"], row["value"])


def _same(printed: Row, traced: Row, rank: int | None) -> bool:
    if printed.get("rank") is not None and rank is not None and printed["rank"] != rank:
        return False
    if "?" not in printed["compile_id"] and printed["compile_id"] != traced["compile_id"]:
        return False
    if printed["name"] is None:
        return "?" not in printed["compile_id"]
    return (printed["name"], printed["line"], _base(printed["file"])) == (
        traced["name"],
        traced["line"],
        _base(traced["file"]),
    )


def _base(file: str | None) -> str:
    return re.split(r"[\\/]", file or "")[-1]
