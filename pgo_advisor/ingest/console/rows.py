"""Rows from console text: compiles without durations, and of inputs what reasons and symbols tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.ingest.console.learned import LearnedCompile, LearnedFrame
from pgo_advisor.ingest.console.messages import Console
from pgo_advisor.ingest.console.numbering import printed_frames
from pgo_advisor.ingest.console.printed import Place, Printed
from pgo_advisor.ingest.pgo.text import parse_pgo_text
from pgo_advisor.ingest.rows import LogRows, Row, break_row, failure_row, named_property


def read_console(path: Path) -> LogRows:
    """Reads what TORCH_LOGS printed, of one process or of several whose lines are mixed."""
    console = Console(path)
    read = printed_rows(console.compiles, console.remarks.release)
    if entries := parse_pgo_text("\n".join(console.profile)):
        read.rows["pgo_entries"] = [{"artifact": path.stem, **entry} for entry in entries]
    elif not console.compiles:
        read.losses.append(console.remarks.nothing())
    if console.dropped:
        read.losses.append(f"{console.dropped} messages are too many and were left out")
    read.notes.extend(console.remarks.sentences())
    return read


def printed_rows(compiles: Iterable[Printed], release: str | None = None) -> LogRows:
    """Rows of the compiles that texts of a release, if it is known, tell of."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for index, told in enumerate(printed_frames(compiles)):
        rank = told.process[0]
        for table, row in _rows(LearnedFrame(told), index, len(rows["compiles"])):
            if table == "compiles":
                row["torch_version"] = release
            rows[table].append({"rank": rank, **row} if rank is not None else row)
    return LogRows(dict(rows), None, [])


def _rows(frame: LearnedFrame, index: int, first: int) -> Iterable[tuple[str, Row]]:
    told = frame.told
    keys = {number: first + position for position, number in enumerate(frame.compiles)}
    code = told.code or (None, None, None)
    name = told.name if not told.name.startswith("?") else "?"
    for number, compile_ in frame.compiles.items():
        keyed = {"compile": keys[number]}
        yield (
            "compiles",
            {
                **keyed,
                "compile_id": f"{name}/{number}",
                "generation": told.generation,
                "frame": index,
                "name": code[0],
                "file": code[1],
                "line": code[2],
                "called_from_compiled": (code[0] or "").startswith("torch_dynamo_resume_in_")
                or None,
                "recorded_by": "console",
                **_end(number, compile_.printed),
            },
        )
        for row in frame.inputs(compile_):
            yield "inputs", {**keyed, **row}
        if number and _is_left_out(frame, number):
            yield "guard_failures", {**keyed, "order": 0, "cause": CauseKind.not_in_text.value}
        for order, (against, failure) in enumerate(told.failures.get(number, ())):
            graph = None if against is None else keys.get(against)
            yield "guard_failures", {**keyed, **failure_row(order, failure, graph)}
        for table, row in _details(compile_):
            yield table, {**keyed, **row}


def _is_left_out(frame: LearnedFrame, number: int) -> bool:
    """Whether the text tells nothing of why a compile came about."""
    printed = frame.compiles[number].printed
    if printed is None:
        return True
    if printed.reasons or printed.limit or printed.error:
        return False
    known = frame.compiles[number].known
    return not any(
        known & earlier.known for other, earlier in frame.compiles.items() if other < number
    )


def _end(number: int, printed: Printed | None) -> Row:
    """How the compile ended; unseen, where the text only implies a recompile."""
    if printed is None:
        return {"outcome": "unseen" if number else "graph"}
    if printed.error:
        kind, reason = printed.error
        known = (place for pin in printed.violated if (place := printed.places.get(pin.name)))
        file, line, _ = next(known, (None, None, None))
        return {
            "outcome": "failed",
            "fail_type": kind,
            "fail_reason": reason,
            "fail_file": file,
            "fail_line": line,
        }
    if printed.limit:
        kind, most = printed.limit
        kind = kind.replace("cache_size_limit", "recompile_limit")
        return {
            "outcome": "limit",
            "fail_type": "RecompileLimitExceeded",
            "fail_reason": f"{kind} reached",
            "settings": None if most is None else f"{kind}={most}",
        }
    return {"outcome": "graph"}


def _details(compile_: LearnedCompile) -> Iterator[tuple[str, Row]]:
    for order, (guard, code) in enumerate(compile_.guards.items()):
        yield "shape_guards", {"order": order, "installed": True, "guard": guard, "user_code": code}
    if (printed := compile_.printed) is None:
        return
    for symbol, (name, value, lower, upper) in printed.symbols.items():
        row: Row = {"symbol": symbol, "name": name, **named_property(name, symbol), "value": value}
        yield "symbols", {**row, "lower": lower, "upper": upper}
    for symbol, value, reason in printed.pinned:
        if symbol in printed.symbols:
            row = {"symbol": symbol, "name": printed.symbols[symbol][0]}
            yield "specializations", {**row, **_pinned(printed, row, value), "reason": reason}
    for pin in printed.violated:
        row = {"symbol": pin.name, "name": pin.name}
        yield "specializations", {**row, **_pinned(printed, row, pin.value), "reason": "marked"}
    for order, (guard, place) in enumerate(printed.decisions):
        row = {"order": order, "installed": False, "guard": guard}
        yield "shape_guards", {**row, **_user(place)}
    for text in printed.breaks:
        yield "graph_breaks", break_row(text)


def _pinned(printed: Printed, row: Row, value: str) -> Row:
    told = named_property(row["name"], row["symbol"])
    place = _user(printed.places.get(row["symbol"]))
    return {"source": told["source"], "dim": told["dim"], "value": value, **place}


def _user(place: Place | None) -> Row:
    file, line, code = place or (None, None, None)
    return {"user_file": file, "user_line": line, "user_code": code}
