"""Rows from console text: compiles without durations, and of inputs what reasons and symbols tell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.guard_failures import Failure, parse_failure
from pgo_advisor.dynamo.whole_numbers import whole_number
from pgo_advisor.ingest.console.messages import Console, Printed, Process
from pgo_advisor.ingest.trace.rows import LogRows, Row, break_row, failure_row, named_property

_MAX_DIMS = 64
_MAX_IMPLIED = 256
_NUMBERED = re.compile(r"(.*)/(\d{1,9})")
_SIZE = re.compile(r"\d{1,18}")


@dataclass
class _Compile:
    """A compile of a frame: what was printed of it, or (None) that others speak of it."""

    printed: Printed | None
    failures: list[Failure]
    sizes: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    ranks: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of ints and floats, kind and value."""
    symbolic: set[tuple[str, int | None]] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)


class _Frame:
    """A compiled code object of one process, with its compiles by their number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.compiles: dict[int, _Compile] = {}

    def add(self, number: int, printed: Printed) -> None:
        failures = [parse_failure(reason) for reason in printed.reasons]
        known = self.compiles.get(number)
        if known is not None and known.printed is not None:
            # the warning at the limit, and the recompile that ran into it
            known.printed.limit |= printed.limit
            known.printed.code = known.printed.code or printed.code
            known.failures = known.failures or failures
            return
        self.compiles[number] = _Compile(printed, failures)
        for implied in range(max(0, number - _MAX_IMPLIED), number):
            self.compiles.setdefault(implied, _Compile(None, []))

    def against(self, number: int, failure: Failure) -> int | None:
        """The number of the compile whose graph refused."""
        if failure.against is None:
            only = [other for other in self.compiles if other < number]
            return only[0] if len(only) == 1 else None
        prefix, _, other = failure.against.partition("_")[0].rpartition("/")
        same = prefix == self.name or self.name.startswith("?")
        return int(other) if same and int(other) in self.compiles else None

    def learn(self) -> None:
        """Gathers what the texts of all compiles tell of the inputs of each."""
        for number, compile_ in sorted(self.compiles.items()):
            if compile_.printed:
                self._learn_details(number, compile_, compile_.printed)
        for number, compile_ in sorted(self.compiles.items()):
            for failure in compile_.failures:
                self._learn_reason(compile_, self.against(number, failure), failure)

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

    def _learn_reason(self, compile_: _Compile, against: int | None, failure: Failure) -> None:
        cause = failure.cause
        graph = None if against is None else self.compiles[against]
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
    read = printed_rows(console.compiles)
    if console.dropped:
        read.losses.append(f"{console.dropped} messages are too many and were left out")
    return read


def printed_rows(compiles: Iterable[Printed]) -> LogRows:
    """Rows of the compiles that texts tell of."""
    frames: dict[tuple[Process, int, str], _Frame] = {}
    for printed in compiles:
        prefix, number = _numbered(printed)
        key = (printed.process, printed.generation, prefix)
        frames.setdefault(key, _Frame(prefix)).add(number, printed)
    rows: dict[str, list[Row]] = defaultdict(list)
    for index, (((rank, _), generation, _), frame) in enumerate(frames.items()):
        frame.learn()
        for table, row in _rows(frame, index, generation, len(rows["compiles"])):
            rows[table].append({"rank": rank, **row} if rank is not None else row)
    return LogRows(dict(rows), None, [])


def _numbered(printed: Printed) -> tuple[str, int]:
    """The frame's name and the compile's number, after its ids or those of the graphs that refused it."""
    if printed.ids and (match := _NUMBERED.fullmatch(printed.ids)):
        return match[1], int(match[2])
    earlier = [
        match
        for reason in printed.reasons
        if (against := parse_failure(reason).against)
        and (match := _NUMBERED.fullmatch(against.partition("_")[0]))
    ]
    if earlier:
        return earlier[0][1], 1 + max(int(match[2]) for match in earlier)
    return f"?{printed.code}", printed.order


def _rows(frame: _Frame, index: int, generation: int, first: int) -> Iterable[tuple[str, Row]]:
    numbers = sorted(frame.compiles)
    keys = {number: first + position for position, number in enumerate(numbers)}
    code = next(
        (c.printed.code for c in frame.compiles.values() if c.printed and c.printed.code),
        (None, None, None),
    )
    name = frame.name if not frame.name.startswith("?") else "?"
    for number in numbers:
        compile_ = frame.compiles[number]
        printed = compile_.printed
        keyed = {"compile": keys[number]}
        yield (
            "compiles",
            {
                **keyed,
                "compile_id": f"{name}/{number}",
                "generation": generation,
                "frame": index,
                "name": code[0],
                "file": code[1],
                "line": code[2],
                "outcome": "limit" if printed and printed.limit else "graph",
                "called_from_compiled": (code[0] or "").startswith("torch_dynamo_resume_in_")
                or None,
                "recorded_by": "console",
            },
        )
        for row in frame.inputs(compile_):
            yield "inputs", {**keyed, **row}
        for order, failure in enumerate(compile_.failures):
            against = frame.against(number, failure)
            graph = None if against is None else keys[against]
            yield "guard_failures", {**keyed, **failure_row(order, failure, graph)}
        if printed:
            for table, row in _details(printed):
                yield table, {**keyed, **row}


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
            yield "specializations", {**row, "source": told["source"], "dim": told["dim"]}
    for order, guard in enumerate(printed.decisions):
        yield "shape_guards", {"order": order, "installed": False, "guard": guard}
    for text in printed.breaks:
        yield "graph_breaks", break_row(text)
