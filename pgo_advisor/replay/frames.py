"""From tables to frames and their compiles, typed: the one place of the replay where rows are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pandas as pd

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import parse_relation
from pgo_advisor.dynamo.sources import SourceDim, is_of_base, whole_number
from pgo_advisor.replay.compiles import Compile, GuardFailure, Scalar, ShapeGuard, Tensor
from pgo_advisor.report import UserLine
from pgo_advisor.tables import Tables

_FLOAT = re.compile(r"-?\d{1,20}\.\d{1,20}(?:e[+-]?\d{1,3})?")
UNKNOWN = "<unknown>"
"""Stands for a name or file that nothing tells."""

Row = Mapping[str, Any]


@dataclass
class Frame:
    """A compiled code object in one process, with its compiles in their order."""

    key: int
    log: int
    rank: int | None
    name: str
    file: str
    line: int
    settings: frozenset[str]
    called_from_compiled: bool
    compiles: list[Compile]
    caller_known: bool = False
    """Whether the user's statement that called it is; of what compiled code calls, it may not be."""

    @property
    def location(self) -> tuple[str, int, str]:
        """What tells code objects apart across logs."""
        return (self.file, self.line, self.name)

    @property
    def hit_limit(self) -> bool:
        return any(call.outcome == "limit" for call in self.compiles)

    @property
    def has_unseen(self) -> bool:
        """Whether console text implies compiles of which it tells nothing else."""
        return any(call.outcome == "unseen" for call in self.compiles)

    @property
    def breaks_at_times(self) -> bool:
        """Whether its compiles broke the graph at different places."""
        return len({frozenset(call.breaks) for call in self.compiles}) > 1

    @property
    def may_follow_a_break(self) -> bool:
        """Whether it may be called from where another compiled function breaks its graph."""
        return self.called_from_compiled or not self.caller_known

    def resumes(self, other: Frame) -> bool:
        """Whether it is what the other one goes on with after a graph break."""
        return (self.log, self.file) == (other.log, other.file) and self.name.startswith(
            f"torch_dynamo_resume_in_{other.name}_at_"
        )


def frames_of(tables: Tables) -> list[Frame]:
    """The frames of all logs, in the order of their first compile."""
    compiles: dict[int, Compile] = {}
    frames: dict[int, Frame] = {}
    for row in rows(tables.compiles):
        call = compiles[row["compile"]] = _compile(row)
        if row["frame"] not in frames:
            frames[row["frame"]] = _frame(row)
        frame = frames[row["frame"]]
        frame.compiles.append(call)
        frame.settings |= _settings(row)
        frame.caller_known = frame.caller_known or row["call_file"] is not None
    for table, add in (
        (tables.inputs, _add_input),
        (tables.symbols, _add_symbol),
        (tables.specializations, _add_specialization),
        (tables.guards, _add_guard),
        (tables.shape_guards, _add_shape_guard),
        (tables.guard_failures, _add_failure),
        (tables.graph_breaks, _add_break),
    ):
        for row in rows(table):
            add(compiles[row["compile"]], row)
    for frame in frames.values():
        _specialize_floats(frame)
    return list(frames.values())


def _specialize_floats(frame: Frame) -> None:
    """Specializes the floats that were symbols while tracing and for whose value PyTorch refused a call.

    AOTAutograd makes a float a constant that it cannot make a tensor of, and no record tells of it
    (torch/fx/passes/_tensorify_python_scalars.py). In the same code it does so each time.
    """
    symbolic: dict[int | None, set[SourceDim]] = {
        call.key: call.symbolic for call in frame.compiles
    }
    constant = {
        refusal.pair
        for call in frame.compiles
        for refusal in call.refusals
        if refusal.cause is CauseKind.float_value
        and refusal.pair in symbolic.get(refusal.against, ())
    }
    for call in frame.compiles:
        call.specialized |= call.symbolic & constant


def rows(frame: pd.DataFrame) -> Iterable[Row]:
    """A table's rows as mappings, missing cells as None."""
    if frame.empty:
        return
    names = [str(name) for name in frame.columns]
    columns = [
        [None if cell is pd.NA else cell for cell in column.tolist()] for _, column in frame.items()
    ]
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))


def _compile(row: Row) -> Compile:
    kind, reason = row["fail_type"], row["fail_reason"] or ""
    return Compile(
        key=row["compile"],
        outcome=row["outcome"],
        seconds=row["seconds"] or 0.0,
        dynamic=row["dynamic"] or "auto",
        path=row["graph_path"],
        partial=row["recorded_by"] == "console",
        failure=kind and f"{kind}: {reason.partition(chr(10))[0]}",
        failed_at=_line(row["fail_file"], row["fail_line"]),
        called_at=_line(row["call_file"], row["call_line"], row["call_code"]),
    )


def _line(file: str | None, line: int | None, code: str | None = None) -> UserLine | None:
    return None if file is None or line is None else UserLine(file, line, code)


def _user_line(row: Row) -> UserLine | None:
    return _line(row["user_file"], row["user_line"], row["user_code"])


def _settings(row: Row) -> frozenset[str]:
    return frozenset(filter(None, (row["settings"] or "").split(", ")))


def _frame(row: Row) -> Frame:
    return Frame(
        key=row["frame"],
        log=row["log"],
        rank=row["rank"],
        name=row["name"] or UNKNOWN,
        file=row["file"] or UNKNOWN,
        line=row["line"] or 0,
        settings=_settings(row),
        called_from_compiled=bool(row["called_from_compiled"]),
        compiles=[],
    )


def _add_input(call: Compile, row: Row) -> None:
    source = row["source"]
    if row["kind"] == "tensor":
        _add_tensor(call, source, row)
    elif row["kind"] == "alias":
        call.aliases[source] = row["size"]
    else:
        call.scalars[source] = Scalar(row["kind"], _number(row["kind"], row["value"]))
        if row["symbolic"]:
            call.symbolic.add(SourceDim(source))


def _number(kind: str, value: str) -> str:
    """A float as Python prints it: a symbol's has 15 digits, `0.190000000000000`."""
    return repr(float(value)) if kind == "float" and _FLOAT.fullmatch(value) else value


def _add_tensor(call: Compile, source: str, row: Row) -> None:
    stride = row["stride"] or (None,) * len(row["size"])
    call.tensors[source] = Tensor(
        row["size"], stride, bool(row["is_parameter"]), row["storage_offset"]
    )
    call.symbolic.update(SourceDim(source, dim) for dim in row["symbolic_dims"])
    call.marked.update(SourceDim(source, dim) for dim in row["marked_dims"])
    if row["marks"] is not None:
        marks = call.marks[source] = frozenset(_marks(row["marks"]))
        call.marked.update(
            SourceDim(source, dim) for kind, dim in marks if kind in ("dynamic", "weak_dynamic")
        )


def _marks(text: str) -> Iterator[tuple[str, int]]:
    for part in filter(None, text.split("; ")):
        kind, _, dims = part.partition(": ")
        yield from ((kind, int(dim)) for dim in dims.split(", "))


def _add_symbol(call: Compile, row: Row) -> None:
    call.symbols[row["symbol"]] = row["name"]
    value = whole_number(str(row["value"]))
    if is_of_base(row["name"]) and value is not None:
        call.values[row["name"]] = value


def _add_specialization(call: Compile, row: Row) -> None:
    pair = SourceDim(row["source"], row["dim"])
    call.specialized.add(pair)
    call.specialized_as.setdefault(row["symbol"], set()).add(pair)
    call.pinned_to[pair] = row["value"]
    if line := _user_line(row):
        call.pinned_at[pair] = line


def _add_guard(call: Compile, row: Row) -> None:
    call.structure[row["kind"], row["source"]] = row["value"]


def _add_shape_guard(call: Compile, row: Row) -> None:
    relation = parse_relation(row["guard"])
    if relation is None:
        return
    if not row["installed"]:
        call.decisions.append(relation)
        if line := _user_line(row):
            call.decided_at.append((relation, line))
        return
    call.installed.append(ShapeGuard(relation, "duck sizing" in (row["comment"] or "")))
    for name, other in permutations(relation.equal_names() or (), 2):
        if is_of_base(name) and (value := call.number(other)) is not None:
            call.values.setdefault(name, value)


def _add_failure(call: Compile, row: Row) -> None:
    call.refusals.append(
        GuardFailure(
            against=row["against"],
            cause=CauseKind(row["cause"]),
            pair=None if row["source"] is None else SourceDim(row["source"], row["dim"]),
            expected=row["expected"],
            actual=row["actual"],
            text=row["text"],
            user_code=row["user_code"],
            user_location=row["user_location"],
        )
    )


def _add_break(call: Compile, row: Row) -> None:
    call.breaks.add((row["user_file"], row["user_line"]))
    if line := _user_line(row):
        call.broken_at[line] = row["reason"]
