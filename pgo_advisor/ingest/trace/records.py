"""The records of `raw.jsonl`, tlparse's list of a TORCH_TRACE log, that a rule reads.

One struct a record kind, with just the fields that are read; unknown kinds and fields are passed
over, so a log of a later release still decodes. Written by `torch/_logging/_internal.py`
(`trace_structured`); the place that writes each kind is named with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from pgo_advisor.ingest.pgo.text import PGO_ARTIFACTS
from pgo_advisor.ingest.trace.calls import ARTIFACT
from pgo_advisor.ingest.trace.payloads import open_regular

_MAX_LINE = 64 << 20


class StackFrame(msgspec.Struct):
    """`torch/_logging/structured.py`, `from_traceback`: `filename` indexes the string table."""

    filename: int | str = -1
    line: int = 0
    name: str = ""
    loc: str | None = None


Stack = list[StackFrame]


class DynamoStart(msgspec.Struct):
    """`torch/_dynamo/convert_frame.py`: the first attempt of a compile begins."""

    stack: Stack = []


class DescribeTensor(msgspec.Struct):
    """`torch/_subclasses/meta_utils.py`, `MetaTensorDesc.as_json`; fields at their default are left out.

    What `mark_dynamic` was given for a dim that the tensor lacks, PyTorch ignores, yet records.
    """

    describer_id: int
    id: int
    size: list[int | str] = []
    stride: list[int | str] | None = None
    storage_offset: int | str = 0
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    is_parameter: bool = False
    dynamo_dynamic_indices: list[int] = []
    attrs: dict[str, int] | None = None
    """The ids of the tensors that a wrapper subclass holds, by the name of its attribute."""

    def __post_init__(self) -> None:
        if self.stride is not None and len(self.stride) != len(self.size):
            raise ValueError("a tensor has a stride for each of its dims")


class DescribeSource(msgspec.Struct):
    """`torch/_subclasses/meta_utils.py`: which input a described tensor is."""

    describer_id: int
    id: int
    source: str


class CreateSymbol(msgspec.Struct):
    """`torch/fx/experimental/symbolic_shapes.py`, `ShapeEnv.create_symbol`."""

    symbol: str
    source: str
    val: str = ""
    vr: str = ""
    user_stack: Stack | None = None
    stack: msgspec.Raw = msgspec.Raw()


class GuardAdded(msgspec.Struct):
    """`torch/fx/experimental/symbolic_shapes.py`, `guard_added_fast`: a decision on symbols."""

    expr: str
    user_stack: Stack | None = None
    stack: msgspec.Raw = msgspec.Raw()


class Specialization(msgspec.Struct):
    """`torch/fx/experimental/symbolic_shapes.py`, `_set_replacement`: a symbol became a constant."""

    symbol: str
    sources: list[str] = []
    value: str = ""
    reason: str = ""
    user_stack: Stack | None = None
    stack: msgspec.Raw = msgspec.Raw()


_FOREVER = 1e15
"""Microseconds, 30 years: what takes longer is no duration."""


class Metrics(msgspec.Struct):
    """`torch/_dynamo/utils.py`, `CompilationMetrics`; at the recompile limit nearly all is null.

    In the prefilter's parts a configuration is the number of one.
    """

    CONFIGS: ClassVar = ("compiler_config", "dynamo_config", "inductor_config")
    DURATIONS: ClassVar = (
        "duration_us",
        "entire_frame_compile_time_s",
        "backend_compile_time_s",
        "inductor_compile_time_s",
        "code_gen_time_s",
    )

    co_name: str | None = None
    co_filename: str | None = None
    co_firstlineno: int | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    fail_user_frame_filename: str | None = None
    fail_user_frame_lineno: int | None = None
    start_time: float | None = None
    duration_us: float | None = None
    entire_frame_compile_time_s: float | None = None
    backend_compile_time_s: float | None = None
    inductor_compile_time_s: float | None = None
    code_gen_time_s: float | None = None
    compiler_config: str | None = None
    dynamo_config: str | None = None
    inductor_config: str | None = None
    pytorch_version: str | None = None

    def __post_init__(self) -> None:
        # tens of kB, the same in all compiles of a process
        for name in self.CONFIGS:
            if (text := getattr(self, name)) is not None:
                setattr(self, name, sys.intern(text))
        for name in self.DURATIONS:
            # a clock that is set back makes negative ones
            if (time := getattr(self, name)) is not None and not 0 <= time < _FOREVER:
                setattr(self, name, None)

    @property
    def seconds(self) -> float | None:
        """Wall seconds of the compile, or of the backward's compile."""
        if self.duration_us is not None:
            return self.duration_us / 1e6
        return self.entire_frame_compile_time_s


class Artifact(msgspec.Struct):
    """A named payload: recompile_reasons, PGO state, a graph break's reason, and others."""

    name: str = ""


class InternedString(msgspec.Struct):
    """`torch/_logging/structured.py`, `intern_string`: an entry of a log's string table, with its number."""

    entry: tuple[str, int] = msgspec.field(name="str")


class Ranked(msgspec.Struct):
    """The rank of the process that wrote a record."""

    rank: int | None = None


class Record(msgspec.Struct):
    """One line of raw.jsonl: which compile it is of, and one of the kinds below."""

    compiled_autograd_id: int | None = None
    frame_id: int | None = None
    frame_compile_id: int | None = None
    attempt: int = 0
    rank: int | None = None
    lineno: int = 0
    payload_filename: str | None = None
    string_table: list[str | None] | None = None
    artifact: Artifact | None = None
    dynamo_start: DynamoStart | None = None
    describe_tensor: DescribeTensor | None = None
    describe_source: DescribeSource | None = None
    create_symbol: CreateSymbol | None = None
    guard_added_fast: GuardAdded | None = None
    symbolic_shape_specialization: Specialization | None = None
    dynamo_output_graph: dict[str, Any] | None = None
    dynamo_cpp_guards_str: dict[str, Any] | None = None
    compilation_metrics: Metrics | None = None
    bwd_compilation_metrics: Metrics | None = None

    @property
    def is_read(self) -> bool:
        """Whether it is of one of these kinds, and if an artifact, one that is read."""
        if self.artifact is not None:
            return self.artifact.name in READ_ARTIFACTS
        return any(getattr(self, kind) is not None for kind in READ_KINDS)


_ENVELOPE = {
    *("compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "rank"),
    *("lineno", "payload_filename", "string_table"),
}
READ_KINDS = frozenset(field.name for field in msgspec.structs.fields(Record)) - _ENVELOPE
"""The kinds of records that are read; the prefilter drops all others."""

READ_ARTIFACTS = frozenset(
    {"recompile_reasons", "dynamo_graph_break_reason", ARTIFACT, *PGO_ARTIFACTS}
)
"""The artifacts that are."""

decode_rank = msgspec.json.Decoder(Ranked).decode
decode_string = msgspec.json.Decoder(InternedString).decode
_decode = msgspec.json.Decoder(Record).decode
_decode_stack = msgspec.json.Decoder(Stack).decode


def read_records(raw: Path) -> Iterator[Record | None]:
    """The records of a raw.jsonl in their order; None for a line that cannot be decoded.

    What follows a line of more than 64 MiB, as a sparse file is, is not read.
    """
    with open_regular(raw) as lines:
        while line := lines.readline(_MAX_LINE):
            try:
                yield _decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield None
            if len(line) == _MAX_LINE:
                return


def decode_stack(raw: msgspec.Raw) -> Stack:
    """A stack that was left undecoded since most are not read; empty if it is none."""
    try:
        return _decode_stack(raw) if len(memoryview(raw)) else []
    except msgspec.DecodeError:
        return []
