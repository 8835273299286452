"""Rows from console text: compiles without durations, and of inputs what reasons and symbols tell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.guard_failures import Failure
from pgo_advisor.dynamo.sources import whole_number
from pgo_advisor.ingest.console.messages import Console
from pgo_advisor.ingest.console.numbering import PrintedFrame, printed_frames
from pgo_advisor.ingest.console.printed import Printed
from pgo_advisor.ingest.pgo.text import parse_pgo_text
from pgo_advisor.ingest.rows import LogRows, Row, break_row, failure_row, named_property

_MAX_DIMS = 64
_SIZE = re.compile(r"\d{1,18}")


@dataclass
class _Compile:
    """What is known of the inputs of a compile."""

    printed: Printed | None
    sizes: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    ranks: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of ints and floats, kind and value."""
    symbolic: set[tuple[str, int | None]] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)


class _Frame:
    """A frame with what the texts of all its compiles tell of the inputs of each."""

    def __init__(self, told: PrintedFrame) -> None:
        self.told = told
        self.compiles = {
            number: _Compile(printed) for number, printed in sorted(told.compiles.items())
        }
        for number, compile_ in self.compiles.items():
            if compile_.printed:
                self._learn_details(number, compile_, compile_.printed)
        for number, compile_ in self.compiles.items():
            for against, failure in told.failures.get(number, ()):
                self._learn_reason(
                    compile_, self.compiles.get(-1 if against is None else against), failure
                )

    def _learn_details(self, number: int, compile_: _Compile, printed: Printed) -> None:
        earlier = [self.compiles[other] for other in self.compiles if other < number]
        for source, size in printed.sizes.items():
            compile_.ranks[source] = len(size)
            compile_.sizes[source].update(enumerate(size[:_MAX_DIMS]))
            if "._parameters[" in source or "._buffers[" in source:
                compile_.parameters.add(source)
        for source, dim, new, old in printed.changed:
            for one, value in [(compile_, new), *((other, old) for other in earlier)]:
                if dim is None:
                    one.numbers.setdefault(source, ("int", value))
                elif dim < _MAX_DIMS:
                    one.sizes[source].setdefault(dim, int(value))
        for symbol, (name, value, _, _) in printed.symbols.items():
            told = named_property(name, symbol)
            source, dim = told["source"], told["dim"]
            if told["kind"] == "size" and dim < _MAX_DIMS and _SIZE.fullmatch(value):
                compile_.sizes[source].setdefault(dim, int(value))
                compile_.symbolic.add((source, dim))
            elif told["kind"] in {"int", "float"}:
                compile_.numbers[source] = (told["kind"], value)
                compile_.symbolic.add((source, None))

    def _learn_reason(self, compile_: _Compile, graph: _Compile | None, failure: Failure) -> None:
        cause = failure.cause
        source, expected, actual = cause.source, cause.expected, cause.actual
        if source is None:
            return
        if cause.kind is CauseKind.tensor_size and cause.dim is not None:
            if cause.dim < _MAX_DIMS:
                for one, size in ((compile_, actual), (graph, expected)):
                    if one is not None and size and _SIZE.fullmatch(size):
                        one.sizes[source][cause.dim] = int(size)
                        if cause.on_parameter:
                            one.parameters.add(source)
        elif cause.kind is CauseKind.tensor_rank:
            for one, rank in ((compile_, actual), (graph, expected)):
                if one is not None and (told := whole_number(rank or "")) is not None:
                    one.ranks[source] = min(told, _MAX_DIMS)
        elif cause.kind in {CauseKind.int_value, CauseKind.float_value} and expected:
            kind = cause.kind.value.partition("-")[0]
            if graph is not None:
                graph.numbers[source] = (kind, expected)
            if source not in compile_.numbers:
                # had it stayed a constant, a later compile would name it
                compile_.numbers[source] = (kind, f"not {expected}")
                compile_.symbolic.add((source, None))

    def inputs(self, compile_: _Compile) -> Iterator[Row]:
        """Rows of the table inputs: a size that is not known is None."""
        for source in sorted(compile_.sizes.keys() | compile_.ranks.keys()):
            sizes = compile_.sizes.get(source, {})
            dims = max(
                (dim for other in self.compiles.values() for dim in other.sizes.get(source, ())),
                default=-1,
            )
            rank = compile_.ranks.get(source, dims + 1)
            yield {
                "source": source,
                "kind": "tensor",
                "size": tuple(sizes.get(dim) for dim in range(rank)),
                "symbolic_dims": tuple(
                    dim for dim in range(rank) if (source, dim) in compile_.symbolic
                ),
                "marked_dims": (),
                "is_parameter": source in compile_.parameters,
            }
        for source, (kind, value) in compile_.numbers.items():
            # only the last one of a row of constants can have become a symbol
            symbolic = (source, None) in compile_.symbolic and (
                value.startswith("not ") or compile_.printed is not None
            )
            yield {"source": source, "kind": kind, "value": value, "symbolic": symbolic}


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
        for table, row in _rows(_Frame(told), index, len(rows["compiles"])):
            if table == "compiles":
                row["torch_version"] = release
            rows[table].append({"rank": rank, **row} if rank is not None else row)
    return LogRows(dict(rows), None, [])


def _rows(frame: _Frame, index: int, first: int) -> Iterable[tuple[str, Row]]:
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
        if compile_.printed:
            for table, row in _details(compile_.printed):
                yield table, {**keyed, **row}


def _is_left_out(frame: _Frame, number: int) -> bool:
    """Whether the text tells nothing of why a compile came about."""
    printed = frame.compiles[number].printed
    if printed is None:
        return True
    if printed.reasons or printed.limit or printed.error:
        return False
    known = {*frame.compiles[number].sizes, *frame.compiles[number].numbers}
    return not any(
        known & {*earlier.sizes, *earlier.numbers}
        for other, earlier in frame.compiles.items()
        if other < number
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


def _details(printed: Printed) -> Iterator[tuple[str, Row]]:
    for symbol, (name, value, lower, upper) in printed.symbols.items():
        yield (
            "symbols",
            {
                "symbol": symbol,
                "name": name,
                **named_property(name, symbol),
                "value": value,
                "lower": lower,
                "upper": upper,
            },
        )
    for symbol, value, reason in printed.pinned:
        if symbol in printed.symbols:
            name = printed.symbols[symbol][0]
            told = named_property(name, symbol)
            row: dict[str, Any] = {"symbol": symbol, "name": name, "value": value, "reason": reason}
            yield "specializations", {**row, **_pinned(told), **_user(printed, symbol)}
    for pin in printed.violated:
        told = named_property(pin.name, pin.name)
        row = {"symbol": pin.name, "name": pin.name, "value": pin.value, "reason": "marked"}
        yield "specializations", {**row, **_pinned(told), **_user(printed, pin.name)}
    for order, guard in enumerate(printed.decisions):
        yield "shape_guards", {"order": order, "installed": False, "guard": guard}
    for text in printed.breaks:
        yield "graph_breaks", break_row(text)


def _pinned(told: Row) -> Row:
    return {"source": told["source"], "dim": told["dim"]}


def _user(printed: Printed, pinned: str) -> Row:
    file, line, code = printed.places.get(pinned, (None, None, None))
    return {"user_file": file, "user_line": line, "user_code": code}
