"""Collects the records that tlparse lists by the process that wrote them and the compile that they are of."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pgo_advisor.dynamo.graph_text import graph_path
from pgo_advisor.dynamo.guard_tree import GuardTree, parse_guards
from pgo_advisor.ingest.trace.calls import ARTIFACT
from pgo_advisor.ingest.trace.payloads import Payloads
from pgo_advisor.ingest.trace.prefilter import Prefilter, process_at, record_at
from pgo_advisor.ingest.trace.records import (
    CreateSymbol,
    DescribeTensor,
    GuardAdded,
    Metrics,
    Record,
    Specialization,
    Stack,
    read_records,
)
from pgo_advisor.ingest.trace.stacks import Strings

_Ids = tuple[int | None, int, int]


@dataclass
class Attempt:
    """What the last attempt of a compile recorded; an earlier attempt's records are superseded."""

    tensors: dict[tuple[int, int], DescribeTensor] = field(default_factory=dict)
    sources: dict[tuple[int, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    symbols: list[CreateSymbol] = field(default_factory=list)
    decisions: list[GuardAdded] = field(default_factory=list)
    specializations: list[Specialization] = field(default_factory=list)
    guards: GuardTree | None = None
    path: str | None = None


@dataclass
class Compile:
    """The records of one compile, of all its attempts."""

    key: int
    frame: int
    autograd: int | None
    frame_id: int
    compile_id: int
    generation: int
    attempt_number: int = 0
    attempt: Attempt = field(default_factory=Attempt)
    start: Stack | None = None
    metrics: Metrics | None = None
    backward_seconds: float | None = None
    failures: list[str] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    pgo: list[tuple[str, str]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        prefix = "" if self.autograd is None else f"{self.autograd}/"
        return f"{prefix}{self.frame_id}/{self.compile_id}"


class LogRecords:
    """The compiles of one process, in the order in which they began, and what was lost of them."""

    def __init__(self, strings: Strings, rank: int | None = None) -> None:
        self.strings = strings
        self.rank = rank
        self.generation = 0
        self.undecodable = 0
        self.missing_payloads = 0
        self.torch_version: str | None = None
        self.compiles: list[Compile] = []
        self._current: dict[_Ids, Compile] = {}
        self._frames: dict[tuple[int, int | None, int], int] = {}

    def read(self, record: Record | None, payloads: Payloads) -> None:
        """Takes one record, None if it cannot be decoded."""
        if record is None:
            self.undecodable += 1
            return
        self._payloads = payloads
        if record.string_table is not None:
            self.strings.add(record.string_table)
        if record.rank is not None:
            self.rank = record.rank
        if record.frame_id is None or record.frame_compile_id is None or not record.is_read:
            return
        ids = (record.compiled_autograd_id, record.frame_id, record.frame_compile_id)
        if record.artifact and record.artifact.name == ARTIFACT:
            # a forked process also counts calls of graphs that it did not compile
            if compile_ := self._current.get(ids):
                compile_.calls.append(self._payload(record))
            return
        compile_ = self._compile_of(ids, record)
        if record.attempt > compile_.attempt_number:
            compile_.attempt_number = record.attempt
            compile_.attempt = Attempt()
        if record.artifact:
            self._read_artifact(record, record.artifact.name, compile_)
        else:
            self._read_traced(record, compile_.attempt)
            self._read_course(record, compile_)

    def _compile_of(self, ids: _Ids, record: Record) -> Compile:
        compile_ = self._current.get(ids)
        begins = (
            record.dynamo_start
            or record.compilation_metrics is not None
            or (record.artifact is not None and record.artifact.name == "recompile_reasons")
        )
        if compile_ is not None and begins and compile_.metrics is not None:
            # the ids of a finished compile come again after torch._dynamo.reset()
            self.generation += 1
            self._current.clear()
            compile_ = None
        if compile_ is None:
            autograd, frame_id, compile_id = ids
            frame = (self.generation, autograd, frame_id)
            compile_ = Compile(
                key=len(self.compiles),
                frame=self._frames.setdefault(frame, len(self._frames)),
                autograd=autograd,
                frame_id=frame_id,
                compile_id=compile_id,
                generation=self.generation,
            )
            self._current[ids] = compile_
            self.compiles.append(compile_)
        return compile_

    def _read_artifact(self, record: Record, name: str, compile_: Compile) -> None:
        text = self._payload(record)
        if name == "recompile_reasons":
            compile_.failures.append(text)
        elif name == "dynamo_graph_break_reason":
            compile_.breaks.append(text)
        else:
            compile_.pgo.append((name, text))

    def _read_traced(self, record: Record, attempt: Attempt) -> None:
        """What an attempt traced."""
        if tensor := record.describe_tensor:
            attempt.tensors.setdefault((tensor.describer_id, tensor.id), tensor)
        elif source := record.describe_source:
            attempt.sources[source.describer_id, source.id].append(source.source)
        elif record.create_symbol:
            attempt.symbols.append(record.create_symbol)
        elif record.guard_added_fast:
            attempt.decisions.append(record.guard_added_fast)
        elif record.symbolic_shape_specialization:
            attempt.specializations.append(record.symbolic_shape_specialization)
        elif record.dynamo_cpp_guards_str is not None:
            attempt.guards = parse_guards(self._payload(record))
        elif record.dynamo_output_graph is not None:
            attempt.path = graph_path(self._payload(record))

    def _read_course(self, record: Record, compile_: Compile) -> None:
        """How a compile began and ended."""
        if record.dynamo_start:
            compile_.start = record.dynamo_start.stack
        elif metrics := record.compilation_metrics:
            compile_.metrics = metrics
            self.torch_version = metrics.pytorch_version or self.torch_version
        elif (backward := record.bwd_compilation_metrics) and backward.seconds:
            compile_.backward_seconds = (compile_.backward_seconds or 0.0) + backward.seconds

    def _payload(self, record: Record) -> str:
        text = self._payloads.text(record.payload_filename) if record.payload_filename else None
        self.missing_payloads += text is None
        return text or ""

    def losses(self) -> list[str]:
        """What could not be read, in sentences."""
        losses = []
        if self.undecodable:
            losses.append(f"{self.undecodable} records could not be read")
        if self.missing_payloads:
            losses.append(f"the payloads of {self.missing_payloads} records are missing")
        if headless := [c.name for c in self.compiles if c.start is None and c.attempt.tensors]:
            losses.append(
                f"the beginning of {len(headless)} compiles is missing (first: {headless[0]})"
            )
        if unfinished := [compile_.name for compile_ in self.compiles if not compile_.metrics]:
            losses.append(
                f"the log ends before {len(unfinished)} of {len(self.compiles)} compiles do "
                f"(first: {unfinished[0]})"
            )
        return losses


def read_output(directory: Path) -> LogRecords:
    """Reads what `tlparse -o` wrote for one log, with a raw.jsonl (0.3.45 or later)."""
    records = LogRecords(Strings())
    payloads = Payloads(directory)
    for record in read_records(directory / "raw.jsonl"):
        records.read(record, payloads)
    return records


def read_parts(directories: Sequence[Path], prefilter: Prefilter) -> list[LogRecords]:
    """Reads what tlparse wrote for the parts that `prefilter` made; the records of each of its processes."""
    all_records = [LogRecords(process.strings, process.rank) for process in prefilter.processes]
    for place, record, payloads in heapq.merge(
        *map(_placed, directories), key=lambda placed: record_at(placed[0])
    ):
        metrics = record and (record.compilation_metrics or record.bwd_compilation_metrics)
        if metrics:
            prefilter.configs.put_into(metrics)
        all_records[process_at(place)].read(record, payloads)
    return all_records


def _placed(directory: Path) -> Iterator[tuple[int, Record | None, Payloads]]:
    place = 0
    payloads = Payloads(directory)
    for record in read_records(directory / "raw.jsonl"):
        if record is None:
            yield place, None, payloads
        elif record.string_table is None:
            place = record.lineno
            yield place, record, payloads
