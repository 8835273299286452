"""Turns the collected records of one log into rows for the tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pgo_advisor.dynamo.guard_failures import parse_failures
from pgo_advisor.dynamo.guard_tree import NO_GUARDS
from pgo_advisor.dynamo.shape_guards import parse_relation
from pgo_advisor.ingest.pgo.text import parse_pgo_text
from pgo_advisor.ingest.rows import LogRows, Row, break_row, failure_row, named_property
from pgo_advisor.ingest.trace.calls import call_rows
from pgo_advisor.ingest.trace.collect import Attempt, Compile, LogRecords
from pgo_advisor.ingest.trace.records import DescribeTensor, Metrics, decode_stack
from pgo_advisor.ingest.trace.settings import left_out, settings_of
from pgo_advisor.ingest.trace.stacks import Callers, Strings, UserFrame
from pgo_advisor.ingest.trace.structure import differing_guards

_MAX_HELD = 64
_AS_TENSOR = re.compile(r"___as_tensor\((.*)\)", re.DOTALL)
_LEFT_OUT = (
    "the run's TORCH_COMPILE_DYNAMIC_SOURCES holds characters that do not print; it is left out"
)


def log_rows(records: LogRecords) -> LogRows:
    """The rows of what one process recorded."""
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in records.compiles:
        frames[compile_.frame].append(compile_)
    strings = records.strings
    code = {frame: _code(compiles, strings) for frame, compiles in frames.items()}
    callers = {frame: _callers(compiles, strings) for frame, compiles in frames.items()}
    compiled = {(row["file"], row["name"]) for row in code.values() if row["file"]}
    by_ids = {(compile_.generation, compile_.name): compile_.key for compile_ in records.compiles}

    rows: dict[str, list[Row]] = defaultdict(list)
    for compile_ in records.compiles:
        frame, attempt = compile_.frame, compile_.attempt
        calls, call_sizes = call_rows(compile_.calls)
        own_callers = _own_callers(compile_, strings) or callers[frame]
        made: dict[str, Iterable[Row]] = {
            "compiles": [
                {
                    **_compile_row(compile_, records.torch_version),
                    **code[frame],
                    **_call_site(own_callers, compiled, code[frame]),
                }
            ],
            "inputs": _inputs(attempt),
            "symbols": _symbols(attempt, strings),
            "shape_guards": _shape_guards(attempt, strings),
            "specializations": _specializations(attempt, strings),
            "guard_failures": _failures(compile_, by_ids),
            "graph_breaks": map(break_row, compile_.breaks),
            "pgo_entries": _pgo_entries(compile_),
            "calls": calls,
            "call_sizes": call_sizes,
        }
        for table, made_of_it in made.items():
            rows[table] += ({"compile": compile_.key, **row} for row in made_of_it)
    for compiles in frames.values():
        rows["guards"] += differing_guards(compiles)
    losses = records.losses()
    if any(compile_.metrics and left_out(compile_.metrics) for compile_ in records.compiles):
        losses.append(_LEFT_OUT)
    return LogRows(dict(rows), records.rank, losses)


def _code(compiles: list[Compile], strings: Strings) -> Row:
    """The compiled function; at the recompile limit only the frame's other compiles tell."""
    for compile_ in compiles:
        if (metrics := compile_.metrics) and metrics.co_name:
            return {
                "name": metrics.co_name,
                "file": metrics.co_filename,
                "line": metrics.co_firstlineno,
            }
    for compile_ in compiles:
        if compile_.start:
            last = compile_.start[-1]
            return {"name": last.name, "file": strings.file(last), "line": last.line}
    return {"name": None, "file": None, "line": None}


def _callers(compiles: list[Compile], strings: Strings) -> Callers | None:
    """Who makes the first call that tells it; None if none does."""
    return next(
        (callers for compile_ in compiles if (callers := _own_callers(compile_, strings))), None
    )


def _own_callers(compile_: Compile, strings: Strings) -> Callers | None:
    """Who makes the call of this compile; None if untold."""
    if compile_.start and (callers := strings.callers_at_start(compile_.start)):
        return callers
    attempt = compile_.attempt
    records = (attempt.symbols, attempt.decisions, attempt.specializations)
    for stack in (record.stack for kind in records for record in kind):
        if callers := strings.callers_while_tracing(decode_stack(stack)):
            return callers
    return None


def _compile_row(compile_: Compile, torch_version: str | None) -> Row:
    metrics = compile_.metrics or Metrics()
    return {
        "compile_id": compile_.name,
        "generation": compile_.generation,
        "frame": compile_.frame,
        "outcome": _outcome(compile_),
        "attempts": compile_.attempt_number + 1,
        "start": metrics.start_time,
        **_durations(metrics, compile_.backward_seconds),
        "graph_path": compile_.attempt.path,
        **settings_of(metrics),
        "fail_type": metrics.fail_type,
        "fail_reason": metrics.fail_reason,
        "fail_file": metrics.fail_user_frame_filename,
        "fail_line": metrics.fail_user_frame_lineno,
        "torch_version": metrics.pytorch_version or torch_version,
        "recorded_by": "trace",
    }


def _durations(metrics: Metrics, backward: float | None) -> Row:
    forward, backend = metrics.seconds, metrics.backend_compile_time_s
    return {
        "seconds": None if forward is None else forward + (backward or 0.0),
        "dynamo_seconds": None if forward is None else max(0.0, forward - (backend or 0.0)),
        "backend_seconds": backend,
        "inductor_seconds": metrics.inductor_compile_time_s,
        "codegen_seconds": metrics.code_gen_time_s,
        "backward_seconds": backward,
    }


def _call_site(callers: Callers | None, compiled: set[tuple[str, str]], code: Row) -> Row:
    within = (code["name"] or "").startswith("torch_dynamo_resume_in_")
    if callers is None:
        return {"called_from_compiled": within or None}
    site = callers.frames[-1]
    return {
        "call_file": site.file,
        "call_line": site.line,
        "call_code": site.code,
        "call_through": callers.through,
        "called_from_compiled": within or _within(callers.frames, compiled, code),
    }


def _symbols(attempt: Attempt, strings: Strings) -> Iterable[Row]:
    for symbol in attempt.symbols:
        lower, _, upper = symbol.vr.partition("[")[2].partition("]")[0].partition(",")
        yield {
            "symbol": symbol.symbol,
            "name": symbol.source,
            **named_property(symbol.source, symbol.symbol),
            "value": symbol.val,
            "lower": lower.strip() or None,
            "upper": upper.strip() or None,
            **_user(strings.innermost(symbol.user_stack)),
        }


def _shape_guards(attempt: Attempt, strings: Strings) -> Iterable[Row]:
    for order, decision in enumerate(attempt.decisions):
        yield {
            "order": order,
            "installed": False,
            "guard": decision.expr,
            **_user(strings.innermost(decision.user_stack)),
        }
    for order, (guard, comment) in enumerate(_installed(attempt)):
        yield {
            "order": order,
            "installed": True,
            "guard": guard,
            "comment": comment,
            "user_code": None if comment.startswith("(unknown ") else comment.partition("  # ")[0],
        }


def _specializations(attempt: Attempt, strings: Strings) -> Iterable[Row]:
    for pinned in attempt.specializations:
        for name in pinned.sources:
            row = named_property(name, pinned.symbol)
            yield {
                "symbol": pinned.symbol,
                "name": name,
                "source": row["source"],
                "dim": row["dim"],
                "value": pinned.value,
                "reason": pinned.reason,
                **_user(strings.innermost(pinned.user_stack)),
            }


def _pgo_entries(compile_: Compile) -> Iterable[Row]:
    for artifact, text in compile_.pgo:
        yield from ({"artifact": artifact, **row} for row in parse_pgo_text(text))


def _outcome(compile_: Compile) -> str:
    metrics = compile_.metrics
    if metrics is None:
        return "unknown"
    if metrics.fail_type:
        reason = f"{metrics.fail_type} {metrics.fail_reason or ''}"
        return (
            "limit"
            if re.search(r"[Rr]ecompile.?[Ll]imit|[Cc]ache.?[Ss]ize.?[Ll]imit", reason)
            else "failed"
        )
    return "graph" if compile_.attempt.guards is not None else "empty"


def _within(callers: list[UserFrame], compiled: set[tuple[str, str]], code: Row) -> bool:
    """Whether a compiled function is among the callers: then the call is itself compiled code."""
    return any(
        (caller.file, caller.function) in compiled
        and (caller.file, caller.function) != (code["file"], code["name"])
        for caller in callers
    )


def _user(frame: UserFrame | None) -> Row:
    if frame is None:
        return {}
    return {"user_file": frame.file, "user_line": frame.line, "user_code": frame.code}


def _installed(attempt: Attempt) -> list[tuple[str, str]]:
    """The shape guards among the graph's lambda guards: relations, not identities."""
    return [
        (guard, comment)
        for guard, comment in (attempt.guards or NO_GUARDS).shape_guards
        if (relation := parse_relation(guard))
        and relation.names
        and not any(name.startswith(("math.isnan(", "torch.")) for name in relation.names)
    ]


def _inputs(attempt: Attempt) -> Iterable[Row]:
    guards = attempt.guards or NO_GUARDS
    symbolic: dict[str, set[int]] = defaultdict(set)
    numbers: dict[str, Row] = {}
    for guarded in guards.tensors:
        symbolic[guarded.source].update(guarded.symbolic_dims)
    for source, number in guards.numbers.items():
        kind = "int" if isinstance(number, int) else "float"
        numbers[source] = {"kind": kind, "value": repr(number), "symbolic": False}
    for row, value in _symbolic(attempt):
        if row["kind"] == "size":
            symbolic[row["source"]].add(row["dim"])
        elif row["kind"] in {"int", "float"}:
            as_tensor = _AS_TENSOR.fullmatch(row["source"])
            source = as_tensor[1] if as_tensor else row["source"]
            numbers[source] = {"kind": row["kind"], "value": value, "symbolic": True}
    described = dict(_described(attempt))
    for source, tensor in described.items():
        row = _tensor(tensor, source, symbolic[source])
        yield {"source": source, **row, "marks": _marks(guards.marks.get(source))}
    for guarded in guards.tensors:
        if guarded.source not in described:
            yield {"source": guarded.source, "kind": "alias", "size": guarded.size}
    for source, number_row in numbers.items():
        yield {"source": source, **number_row}


def _symbolic(attempt: Attempt) -> Iterator[tuple[Row, str]]:
    """What was a symbol when the compile began, and its value; also what was pinned since."""
    for symbol in attempt.symbols:
        yield named_property(symbol.source, symbol.symbol), symbol.val
    for pinned in attempt.specializations:
        for name in pinned.sources:
            yield named_property(name, pinned.symbol), pinned.value


def _described(attempt: Attempt) -> Iterator[tuple[str, DescribeTensor]]:
    """The tensors by their sources, with those that wrapper subclasses hold, as jagged tensors offsets."""
    for (describer, id_), names in attempt.sources.items():
        for source in names:
            if not source.startswith("___as_tensor("):
                yield from _held(attempt, describer, id_, source, set())


def _held(
    attempt: Attempt, describer: int, id_: int, source: str, seen: set[int]
) -> Iterator[tuple[str, DescribeTensor]]:
    tensor = attempt.tensors.get((describer, id_))
    if tensor is None or id_ in seen or len(seen) > _MAX_HELD:
        return
    seen.add(id_)
    yield source, tensor
    for attribute, inner in (tensor.attrs or {}).items():
        yield from _held(attempt, describer, inner, f"{source}.{attribute}", seen)


def _marks(marks: dict[str, frozenset[int]] | None) -> str | None:
    if marks is None:
        return None
    return "; ".join(
        f"{kind}: {', '.join(map(str, sorted(dims)))}"
        for kind, dims in sorted(marks.items())
        if dims
    )


def _tensor(tensor: DescribeTensor, source: str, symbolic: set[int]) -> Row:
    dims = range(len(tensor.size))
    return {
        "kind": "tensor",
        "size": _ints(tensor.size),
        "stride": None if tensor.stride is None else _ints(tensor.stride),
        "storage_offset": tensor.storage_offset if isinstance(tensor.storage_offset, int) else None,
        "symbolic_dims": tuple(sorted(symbolic.intersection(dims))),
        "marked_dims": tuple(sorted({*tensor.dynamo_dynamic_indices}.intersection(dims))),
        "dtype": tensor.dtype,
        "device": tensor.device.removeprefix("device(type='").removesuffix("')"),
        "requires_grad": tensor.requires_grad,
        "is_parameter": tensor.is_parameter or "._buffers[" in source or "._parameters[" in source,
    }


def _ints(values: list[int | str]) -> tuple[int | None, ...]:
    return tuple(value if isinstance(value, int) else None for value in values)


def _failures(compile_: Compile, by_ids: dict[tuple[int, str], int]) -> Iterable[Row]:
    failures = (failure for text in compile_.failures for failure in parse_failures(text))
    for order, failure in enumerate(failures):
        against = by_ids.get((compile_.generation, failure.against or ""))
        yield failure_row(order, failure, against)
