"""A frame's compiles as calls with their inputs: what prediction and the rules reason about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import pandas as pd

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import Number, Relation, parse_relation
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.dynamo.whole_numbers import whole_number
from pgo_advisor.tables import Tables

UNKNOWN = "<unknown>"
"""Stands for a name or file that nothing tells."""


class Tensor(NamedTuple):
    size: tuple[int | None, ...]
    stride: tuple[int | None, ...]
    is_parameter: bool
    offset: int | None = 0


class Scalar(NamedTuple):
    """An int or float input; `value` is its text."""

    kind: str
    value: str


class GuardFailure(NamedTuple):
    """Why an earlier compile's graph did not take this call."""

    against: int | None
    cause: CauseKind
    pair: SourceDim | None
    actual: str | None = None
    """What the guard met, as PyTorch wrote it."""

    @property
    def of_a_base(self) -> bool:
        """Whether a guard on a view's base met a tensor that is no view: an exception that names no input."""
        return self.cause is CauseKind.none_value and self.pair is None


@dataclass
class Call:
    """A recorded compile, seen as the call of the function that brought it about."""

    compile: int
    outcome: str
    seconds: float
    dynamic: str
    """`torch.compile(dynamic=…)` as in force: auto, true or false."""
    path: str | None
    partial: bool = False
    """Recorded by console text: only what reasons name is known of its inputs."""
    breaks: set[tuple[str | None, int | None]] = field(default_factory=set)
    """Where it broke the graph, as file and line."""
    failure: str | None = None
    """The exception that ended the compile, first line."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    symbolic: set[SourceDim] = field(default_factory=set)
    """What was a symbol when tracing began, pinned later or not."""
    marked: set[SourceDim] = field(default_factory=set)
    marks: dict[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    """All marks of a tensor, as (kind, dim), for those whose marks the graph guards on."""
    aliases: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    """Sizes of tensors that are recorded under another name; None for a symbol."""
    pinned: set[SourceDim] = field(default_factory=set)
    pinned_as: dict[str, set[SourceDim]] = field(default_factory=dict)
    """What was pinned, by its symbol: several if duck sizing had given them one symbol."""
    structure: dict[tuple[str, str], str] = field(default_factory=dict)
    """Guards that are not about sizes, by (kind, source)."""
    installed: list[tuple[Relation, bool]] = field(default_factory=list)
    """Shape guards that the graph checks, and whether duck sizing alone made them."""
    decisions: list[Relation] = field(default_factory=list)
    """All decisions on symbols while tracing, in their order."""
    symbols: dict[str, str] = field(default_factory=dict)
    """What a symbol stands for, as `L['x'].size()[0]`."""
    values: dict[str, Number] = field(default_factory=dict)
    """Sizes and strides of views' bases, which no input tells, as far as they were symbols; by name."""
    refusals: list[GuardFailure] = field(default_factory=list)

    @cached_property
    def duck_groups(self) -> list[frozenset[str]]:
        """Names of sizes that had one symbol since they had the same value, in groups."""
        groups: list[frozenset[str]] = []
        for relation, duck in self.installed:
            if duck:
                joined = relation.names.union(*(g for g in groups if g & relation.names))
                groups = [group for group in groups if not group & joined] + [joined]
        return groups

    @cached_property
    def read(self) -> frozenset[str]:
        """The inputs that the code read."""
        names = (*self.tensors, *self.scalars, *self.aliases)
        return frozenset(name for name in names if not name.endswith("._base"))

    @property
    def pinned_groups(self) -> list[set[SourceDim]]:
        """Pairs that were pinned together since duck sizing had given them one symbol."""
        return [pairs for pairs in self.pinned_as.values() if len(pairs) > 1]

    @property
    def guards_a_base(self) -> bool:
        """Whether the graph has guards on the base of a view, which a tensor that is none does not pass."""
        return any("._base." in name for relation, _ in self.installed for name in relation.names)

    @property
    def marked_unseen(self) -> bool:
        """Whether a tensor had a mark that only a reason tells of, as maybe_mark_dynamic's."""
        return (
            not self.marks
            and not self.marked
            and any(refusal.cause is CauseKind.marking_changed for refusal in self.refusals)
        )

    def equal_pairs(self, pair: SourceDim) -> set[SourceDim]:
        """The pairs that the graph requires to be equal to this one."""
        equal = {
            other
            for group in self.duck_groups
            if pair in map(pair_of, group)
            for name in group
            if (other := pair_of(name)) not in (pair, None)
        }
        for relation, _ in self.installed:
            if names := relation.equal_names():
                left, right = map(pair_of, names)
                if pair in (left, right):
                    equal |= {other for other in (left, right) if other not in (pair, None)}
        return equal

    def value(self, pair: SourceDim) -> int | str | None:
        """A size, or a scalar's text; None where the call has no such input."""
        if pair.dim is None:
            scalar = self.scalars.get(pair.source)
            return scalar.value if scalar else None
        tensor = self.tensors.get(pair.source)
        if tensor is None or pair.dim >= len(tensor.size):
            return None
        return tensor.size[pair.dim]

    def number(self, name: str) -> Number | None:
        """The value of what a shape guard names: a size, a stride, an int or a symbol."""
        name = self.symbols.get(name, name)
        if name in self.values:
            return self.values[name]
        if match := _PROPERTY.fullmatch(name):
            tensor = self.tensors.get(match[1])
            values = (tensor.size if match[2] == "size" else tensor.stride) if tensor else ()
            return values[int(match[3])] if int(match[3]) < len(values) else None
        if tensor := self.tensors.get(name.removesuffix(".storage_offset()")):
            return tensor.offset
        scalar = self.scalars.get(name)
        try:
            return None if scalar is None else int(scalar.value)
        except ValueError:
            return None


def pairs(call: Call) -> list[SourceDim]:
    """All dims of a call's tensors, and its ints."""
    pairs = [
        SourceDim(source, dim)
        for source, tensor in call.tensors.items()
        for dim in range(len(tensor.size))
    ]
    return pairs + [
        SourceDim(source, None) for source, scalar in call.scalars.items() if scalar.kind == "int"
    ]


def pair_of(name: str) -> SourceDim | None:
    """What a name in a shape guard stands for; None for strides and the like."""
    if match := _PROPERTY.fullmatch(name):
        return SourceDim(match[1], int(match[3])) if match[2] == "size" else None
    return None if name.endswith("()") else SourceDim(name, None)


_PROPERTY = re.compile(r"(.*)\.(size|stride)\(\)\[(\d{1,4})\]", re.DOTALL)
_DUCK = "duck sizing"


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
    calls: list[Call]
    caller_known: bool = False
    """Whether the user's statement that called it is; of what compiled code calls, it may not be."""

    @property
    def location(self) -> tuple[str, int, str]:
        """What tells code objects apart across logs."""
        return (self.file, self.line, self.name)


def frames_of(tables: Tables) -> list[Frame]:
    """The frames of all logs, in the order of their first compile."""
    calls: dict[int, Call] = {}
    frames: dict[int, Frame] = {}
    for row in rows(tables.compiles):
        call = Call(
            compile=row["compile"],
            outcome=row["outcome"],
            seconds=row["seconds"] or 0.0,
            dynamic=row["dynamic"] or "auto",
            path=row["graph_path"],
            partial=row["recorded_by"] == "console",
            failure=_failure(row["fail_type"], row["fail_reason"]),
        )
        calls[call.compile] = call
        frame = frames.get(row["frame"])
        if frame is None:
            frame = frames[row["frame"]] = Frame(
                key=row["frame"],
                log=row["log"],
                rank=row["rank"],
                name=row["name"] or UNKNOWN,
                file=row["file"] or UNKNOWN,
                line=row["line"] or 0,
                settings=frozenset((row["settings"] or "").split(", ")),
                called_from_compiled=bool(row["called_from_compiled"]),
                calls=[],
            )
        frame.calls.append(call)
        frame.caller_known = frame.caller_known or row["call_file"] is not None
    _add_inputs(calls, tables)
    _add_guards(calls, tables)
    for row in rows(tables.graph_breaks):
        calls[row["compile"]].breaks.add((row["user_file"], row["user_line"]))
    return list(frames.values())


def _failure(kind: str | None, reason: str | None) -> str | None:
    return kind and f"{kind}: {(reason or '').partition(chr(10))[0]}"


def rows(frame: pd.DataFrame) -> Iterable[Mapping[str, Any]]:
    """A table's rows as mappings, missing cells as None."""
    names = [str(name) for name in frame.columns]
    columns = [[None if cell is pd.NA else cell for cell in frame[name].tolist()] for name in names]
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))


def _add_inputs(calls: Mapping[int, Call], tables: Tables) -> None:
    for row in rows(tables.inputs):
        call, source = calls[row["compile"]], row["source"]
        if row["kind"] == "tensor":
            stride = row["stride"] or (None,) * len(row["size"])
            call.tensors[source] = Tensor(
                row["size"], stride, bool(row["is_parameter"]), row["storage_offset"]
            )
            call.symbolic.update(SourceDim(source, dim) for dim in row["symbolic_dims"])
            call.marked.update(SourceDim(source, dim) for dim in row["marked_dims"])
            if row["marks"] is not None:
                call.marks[source] = frozenset(_marks(row["marks"]))
                call.marked.update(
                    SourceDim(source, dim)
                    for kind, dim in call.marks[source]
                    if kind in ("dynamic", "weak_dynamic")
                )
        elif row["kind"] == "alias":
            call.aliases[source] = row["size"]
        else:
            call.scalars[source] = Scalar(row["kind"], row["value"])
            if row["symbolic"]:
                call.symbolic.add(SourceDim(source, None))
    for row in rows(tables.symbols):
        call = calls[row["compile"]]
        call.symbols[row["symbol"]] = row["name"]
        value = whole_number(str(row["value"]))
        if "._base." in row["name"] and value is not None:
            call.values[row["name"]] = value
    for row in rows(tables.specializations):
        call, pair = calls[row["compile"]], SourceDim(row["source"], row["dim"])
        call.pinned.add(pair)
        call.pinned_as.setdefault(row["symbol"], set()).add(pair)


def _marks(text: str) -> Iterator[tuple[str, int]]:
    for part in filter(None, text.split("; ")):
        kind, _, dims = part.partition(": ")
        yield from ((kind, int(dim)) for dim in dims.split(", "))


def _add_guards(calls: Mapping[int, Call], tables: Tables) -> None:
    for row in rows(tables.guards):
        calls[row["compile"]].structure[row["kind"], row["source"]] = row["value"]
    for row in rows(tables.shape_guards):
        if relation := parse_relation(row["guard"]):
            call = calls[row["compile"]]
            if not row["installed"]:
                call.decisions.append(relation)
                continue
            call.installed.append((relation, _DUCK in (row["comment"] or "")))
            for name, other in permutations(relation.equal_names() or (), 2):
                if "._base." in name and (value := call.number(other)) is not None:
                    call.values.setdefault(name, value)
    for row in rows(tables.guard_failures):
        pair = None if row["source"] is None else SourceDim(row["source"], row["dim"])
        refusal = GuardFailure(row["against"], CauseKind(row["cause"]), pair, row["actual"])
        calls[row["compile"]].refusals.append(refusal)
