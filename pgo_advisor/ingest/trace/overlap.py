"""Leaves out what console text repeats of compiles that a trace has recorded in full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgo_advisor.ingest.rows import LogRows, Row


def without_recorded(console: LogRows, traces: Iterable[tuple[int | None, LogRows]]) -> LogRows:
    """The console's rows less the frames that one of the traces, each with its rank, has, too.

    A frame is the same if its compile ids, its name and its place agree, as far as the text tells them.
    """
    known = _known(console, list(traces))
    if not known:
        return console
    compiles = console.rows["compiles"]
    kept = [row for row in compiles if row["frame"] not in known]
    told = f"{len(compiles) - len(kept)} of {len(compiles)} compiles are in the trace, too, with more detail"
    return LogRows(_of(kept, console), console.rank, console.losses, [told])


def _known(console: LogRows, traces: list[tuple[int | None, LogRows]]) -> set[int]:
    """The frames that a trace has, too."""
    recorded = [
        (rank, row) for rank, log in traces for row in log.rows.get("compiles", ()) if row["name"]
    ]
    symbols = {symbol for _, log in traces for _, symbol in _symbols(log)}
    foreign = {frame for frame, symbol in _symbols(console) if symbol not in symbols}
    last = {row["frame"]: row for row in console.rows.get("compiles", ())}
    return {
        frame
        for frame, row in last.items()
        if (row["name"] or frame not in foreign)
        and any(_same(row, other, rank) for rank, other in recorded)
    }


def _of(kept: list[Row], console: LogRows) -> dict[str, list[Row]]:
    """The rows of these compiles alone, numbered anew."""
    keys = {row["compile"]: key for key, row in enumerate(kept)}
    frames = {frame: number for number, frame in enumerate(dict.fromkeys(r["frame"] for r in kept))}
    numbers: dict[str, dict[Any, int]] = {"compile": keys, "against": keys, "frame": frames}
    return {
        table: [
            {
                column: numbers[column][cell] if column in numbers and cell is not None else cell
                for column, cell in row.items()
            }
            for row in own
            if row["compile"] in keys
        ]
        for table, own in console.rows.items()
    }


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
