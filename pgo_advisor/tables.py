"""The tables that ingestion fills: what each column means, its type and its unit.

Every row of every table carries `log` (index into the analysed logs) and `rank`. The tables
join on `compile`, which is unique over all logs of one analysis, unlike PyTorch's compile ids, which
start again at 0/0 in each process and after `torch._dynamo.reset()`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

Row = Mapping[Any, Any]
_INT64 = 1 << 63
INTS = "list of int"
"""Dtype name of a column whose cells are tuples of ints (None for an unknown one), or missing."""


class Column(NamedTuple):
    """A column: its pandas dtype, and what it means."""

    dtype: str
    meaning: str


_KEYS = {
    "log": Column("Int64", "index of the log, in the order of `Analysis.logs`: by rank"),
    "rank": Column("Int64", "torch.distributed rank of the process; missing if it had none"),
    "compile": Column("Int64", "key of the compile, unique in this analysis"),
}
_USER = {
    "user_file": Column("string", "the user's source file that the record speaks of"),
    "user_line": Column("Int64", "line in user_file, from 1"),
    "user_code": Column("string", "that line, as recorded"),
}

COLUMNS: dict[str, dict[str, Column]] = {
    "compiles": {
        **_KEYS,
        "compile_id": Column("string", "PyTorch's compile id: [autograd/]frame/compile"),
        "generation": Column(
            "Int64", "how often torch._dynamo.reset() started the ids anew, from 0"
        ),
        "frame": Column(
            "Int64", "key of the compiled code object in its log, unique in this analysis"
        ),
        "name": Column("string", "name of the compiled function"),
        "file": Column("string", "source file of the compiled function"),
        "line": Column("Int64", "first line of the compiled function, from 1"),
        "outcome": Column(
            "string",
            "graph; empty (nothing to compile was found); limit (recompile limit hit, runs eagerly "
            "from then on); failed; unknown (the log ends before the compile does); unseen (console text "
            "implies it and does not hold it)",
        ),
        "attempts": Column("Int64", "how often Dynamo traced the function for this compile"),
        "start": Column("Float64", "seconds since 1970, UTC"),
        "seconds": Column("Float64", "wall seconds of the compile, forward and backward"),
        "dynamo_seconds": Column("Float64", "of these, all of the forward but the backend"),
        "backend_seconds": Column("Float64", "of these, in the backend for the forward"),
        "inductor_seconds": Column("Float64", "of the backend's, in Inductor"),
        "codegen_seconds": Column("Float64", "of the backend's, generating code"),
        "backward_seconds": Column("Float64", "of these, compiling the backward graph"),
        "call_file": Column("string", "file of the user's statement that called the function"),
        "call_line": Column("Int64", "line of that statement"),
        "call_code": Column("string", "that line, as recorded"),
        "call_through": Column(
            "string",
            "file of the library code that this statement calls and that makes the call itself",
        ),
        "called_from_compiled": Column(
            "boolean", "a resume function or one reached from compiled code: no place for a mark"
        ),
        "graph_path": Column(
            "string", "digest of the graph's operations and the lines they come from"
        ),
        "dynamic": Column("string", "torch.compile(dynamic=…) as in force: auto, true or false"),
        "dynamic_sources": Column("string", "TORCH_COMPILE_DYNAMIC_SOURCES in force"),
        "unbacked_sources": Column("string", "TORCH_COMPILE_UNBACKED_SOURCES in force"),
        "settings": Column("string", "settings in force that change the advice, comma separated"),
        "fail_type": Column("string", "class of the exception that ended the compile"),
        "fail_reason": Column("string", "its text"),
        "fail_file": Column("string", "file of the user's line that was traced when it failed"),
        "fail_line": Column("Int64", "that line, from 1"),
        "torch_version": Column("string", "PyTorch's version, where the log tells it"),
        "recorded_by": Column(
            "string",
            "trace; or console: then without durations, and inputs as far as reasons name them",
        ),
    },
    "guard_failures": {
        **_KEYS,
        "order": Column("Int64", "position in the record, from 0: most recently used graph first"),
        "against": Column("Int64", "key of the earlier compile whose graph refused the inputs"),
        "text": Column("string", "the reason as PyTorch wrote it"),
        "cause": Column("string", "kind of cause, see `pgo-advisor explain`"),
        "source": Column("string", "Dynamo's name of the input that the guard is on"),
        "dim": Column("Int64", "dim of the tensor"),
        "expected": Column("string", "value that the guard wanted"),
        "actual": Column("string", "value that it met"),
        "guard": Column("string", "the guard's expression"),
        "user_code": Column("string", "the user's line that the guard comes from"),
        "user_location": Column("string", "its file, line and function, as PyTorch shortens them"),
    },
    "inputs": {
        **_KEYS,
        "source": Column("string", "Dynamo's name of the input"),
        "kind": Column(
            "string", "tensor, int, float, or alias: a tensor recorded under another name"
        ),
        "size": Column(INTS, "sizes of a tensor"),
        "stride": Column(INTS, "strides of a tensor, in elements"),
        "storage_offset": Column(
            "Int64", "where a view begins in its storage, in elements; else 0"
        ),
        "symbolic_dims": Column(INTS, "dims whose size was a symbol when the compile began"),
        "marked_dims": Column(INTS, "dims with mark_dynamic"),
        "marks": Column(
            "string",
            "all marks that the graph guards on, as `weak_dynamic: 0`; missing if it does not tell",
        ),
        "value": Column("string", "value of an int or a float"),
        "symbolic": Column("boolean", "an int or float that was a symbol"),
        "dtype": Column("string", "dtype of a tensor"),
        "device": Column("string", "device of a tensor"),
        "requires_grad": Column("boolean", "whether the tensor required grad"),
        "is_parameter": Column("boolean", "a torch.nn.Parameter or a buffer"),
    },
    "symbols": {
        **_KEYS,
        "symbol": Column("string", "name of the symbol, as s77"),
        "name": Column("string", "what it stands for, as L['x'].size()[0]"),
        "source": Column("string", "Dynamo's name of the input"),
        "kind": Column("string", "size, stride, storage_offset, item, int or float"),
        "dim": Column("Int64", "dim of a size or stride"),
        "value": Column("string", "value when the compile began"),
        "lower": Column("string", "lower bound, as PyTorch prints it"),
        "upper": Column("string", "upper bound"),
        **_USER,
    },
    "shape_guards": {
        **_KEYS,
        "order": Column("Int64", "order of installation, or of decision while tracing"),
        "installed": Column("boolean", "checked before each call; else only decided while tracing"),
        "guard": Column(
            "string", "the relation, over sizes of inputs where installed, else symbols"
        ),
        "comment": Column("string", "PyTorch's note behind an installed guard: whence and why"),
        **_USER,
    },
    "specializations": {
        **_KEYS,
        "symbol": Column("string", "name of the symbol that was pinned to a constant"),
        "name": Column("string", "what it stood for, as L['x'].size()[0]"),
        "source": Column("string", "Dynamo's name of the input"),
        "dim": Column("Int64", "dim of a size; missing for an int"),
        "value": Column("string", "the constant"),
        "reason": Column("string", "PyTorch's word for why"),
        **_USER,
    },
    "guards": {
        **_KEYS,
        "kind": Column(
            "string",
            "PyTorch's guard type, as TYPE_MATCH; BOOL_MATCH for TRUE_MATCH and FALSE_MATCH",
        ),
        "source": Column("string", "Dynamo's name of the input"),
        "value": Column("string", "what is compared with, as text"),
    },
    "pgo_entries": {
        **_KEYS,
        "artifact": Column("string", "which PGO artifact, as put_local_code_state"),
        "file": Column("string", "source file of the code object"),
        "line": Column("Int64", "its first line"),
        "name": Column("string", "its name"),
        "file_hash": Column("string", "CRC-32 of the source file, hexadecimal"),
        "closure": Column(
            "Int64", "hash of its closure's functions (2.12), of that process; pickles only"
        ),
        "source": Column("string", "Dynamo's name of the input"),
        "kind": Column(
            "string", "tensor, scalar, dynamic (a varying scalar, or a rank) or unusual"
        ),
        "size": Column(INTS, "sizes; None where they varied"),
        "stride": Column(
            "string", "strides as PyTorch prints them; S(1): dim 1's stride times size"
        ),
        "value": Column("string", "a scalar's value; of a dynamic one the first, where told"),
    },
    "graph_breaks": {
        **_KEYS,
        "reason": Column("string", "why Dynamo stopped tracing"),
        **_USER,
    },
    "calls": {
        **_KEYS,
        "process": Column("Int64", "process id: forked processes write into one log"),
        "calls": Column("Int64", "calls of the compile's graph, the compiling one with them"),
        "first": Column("Float64", "first of them, seconds since 1970, UTC"),
        "last": Column("Float64", "last that was timed, seconds since 1970, UTC"),
        "timed": Column("Int64", "calls that were timed: the first, then every sixteenth"),
        "seconds": Column("Float64", "host seconds of the timed calls, nested graphs with them"),
        "unlisted": Column("Int64", "calls with sizes that are not in call_sizes"),
        "eager": Column(
            "Int64",
            "calls of the function that ran as it is written though compiled for; told with the last "
            "compile that Dynamo traced; missing where none was seen, and below Python 3.12",
        ),
        "eager_first": Column("Float64", "first of them, seconds since 1970, UTC"),
        "eager_file": Column("string", "file that called it then"),
        "eager_line": Column("Int64", "line in that file"),
    },
    "call_sizes": {
        **_KEYS,
        "process": Column("Int64", "process id"),
        "order": Column("Int64", "order in which the graph met the sizes, from 0"),
        "symbols": Column("string", "the graph's symbols, as s77, s31"),
        "sizes": Column(INTS, "their values"),
        "calls": Column("Int64", "calls with these"),
    },
}


@dataclass(frozen=True)
class Tables:
    """What a run left behind, as one DataFrame each; the columns are those of `COLUMNS`.

    `guards` holds the guards that are not about sizes, and of these only the ones whose value
    differs between compiles of one frame: the others can never cause a recompile. `calls` and
    `call_sizes` have a row for each process, and none unless `record --calls` counted.
    """

    compiles: pd.DataFrame
    guard_failures: pd.DataFrame
    inputs: pd.DataFrame
    symbols: pd.DataFrame
    shape_guards: pd.DataFrame
    specializations: pd.DataFrame
    guards: pd.DataFrame
    pgo_entries: pd.DataFrame
    graph_breaks: pd.DataFrame
    calls: pd.DataFrame
    call_sizes: pd.DataFrame

    @classmethod
    def from_rows(cls, rows: Mapping[str, Sequence[Row]]) -> Tables:
        """Builds every table from its rows; a column that a row lacks is missing there."""
        return cls(**{name: _frame(name, rows.get(name, ())) for name in COLUMNS})

    def __iter__(self) -> Iterator[tuple[str, pd.DataFrame]]:
        for field in fields(self):
            yield field.name, getattr(self, field.name)

    def to_parquet(self, directory: str | os.PathLike[str]) -> None:
        """Writes `<table>.parquet` for each table into a new directory, all of it or nothing."""
        import pyarrow
        import pyarrow.parquet

        from pgo_advisor.files import new_directory

        arrow = {
            "Int64": pyarrow.int64(),
            "Float64": pyarrow.float64(),
            "boolean": pyarrow.bool_(),
            "string": pyarrow.string(),
            INTS: pyarrow.list_(pyarrow.int64()),
        }

        with new_directory(Path(directory)) as part:
            for name, frame in self:
                columns = {
                    column: pyarrow.array(
                        (None if cell is pd.NA else cell for cell in frame[column].tolist()),
                        arrow[told.dtype],
                    )
                    for column, told in COLUMNS[name].items()
                }
                pyarrow.parquet.write_table(pyarrow.table(columns), part / f"{name}.parquet")

    @classmethod
    def from_parquet(cls, directory: str | os.PathLike[str]) -> Tables:
        """Reads back what `to_parquet` wrote; the tables are identical, tuples and dtypes included."""
        import pyarrow.parquet

        return cls.from_rows(
            {
                name: pyarrow.parquet.read_table(Path(directory) / f"{name}.parquet").to_pylist()
                for name in COLUMNS
            }
        )


def _frame(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    return _made(table, rows) if rows else _empty(table).copy()


@cache
def _empty(table: str) -> pd.DataFrame:
    return _made(table, ())


def _made(table: str, rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(  # type: ignore[no-any-return]
        {
            name: _series([row.get(name) for row in rows], column.dtype)
            for name, column in COLUMNS[table].items()
        }
    )


def _series(values: list[Any], dtype: str) -> Any:
    """The column; numbers of more than 64 bits are missing, and half characters replaced."""
    if dtype == INTS:
        cells = [None if value is None else tuple(map(_int64, value)) for value in values]
        return pd.Series(cells, dtype=object)
    if dtype == "string":
        return pd.Series(list(map(_unicode, values)), dtype=pd.StringDtype("python"))
    if dtype == "Int64":
        return pd.Series(list(map(_int64, values)), dtype=dtype)
    return pd.Series(values, dtype=dtype)


def _int64(value: Any) -> Any:
    return value if value is None or value is pd.NA or -_INT64 <= value < _INT64 else None


def _unicode(value: Any) -> Any:
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()
