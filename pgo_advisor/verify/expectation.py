"""Advice to be verified: a list, and what it is said to do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgo_advisor.analysis import Analysis, analyze
from pgo_advisor.dynamo.source_list import MAX_VALUE_BYTES
from pgo_advisor.errors import InputError
from pgo_advisor.report import Range, Recompile
from pgo_advisor.verify.runner import Function

_MAX_BYTES = 1 << 28

Cause = tuple[Function, str, str | None, int | None]
"""A cause of a recompile: in which function, its kind, source and dim."""


@dataclass(frozen=True)
class Expectation:
    """What the advice claims, to be held against the runs."""

    dynamic_sources: str
    total: Range | None
    """Compiles that are predicted with the list, in all; None if nothing is predicted."""
    predicted: dict[Function, Range]
    left: frozenset[Cause] | None
    """Causes of the recompiles that are predicted to remain; None if that is not known."""
    causes: frozenset[Cause] = frozenset()
    """The main causes of all recompiles."""
    analysis: Analysis | None = None
    """None where a report claims it."""


def expectation_from(analysis: Analysis) -> Expectation:
    """What an analysis advises."""
    functions = {
        frame.id: Function(frame.name, frame.file, frame.line) for frame in analysis.frames
    }
    predicted: dict[Function, Range] = {}
    for frame in analysis.frames:
        function = functions[frame.id]
        predicted[function] = predicted.get(function, Range(0, 0)) + frame.predicted

    def causes(recompiles: Iterable[Recompile], most: int) -> frozenset[Cause]:
        return frozenset(
            (functions[recompile.frame], cause.kind.value, cause.source, cause.dim)
            for recompile in recompiles
            for cause in recompile.causes[:most]
        )

    return Expectation(
        analysis.dynamic_sources,
        analysis.totals.predicted if analysis.frames else None,
        predicted,
        causes((r for r in analysis.recompiles if not r.removed), 1000),
        causes(analysis.recompiles, 1),
        analysis,
    )


def read_expectation(path: Path) -> Expectation:
    """Advice at a path: JSON that `--json` wrote, or anything that can be analysed.

    Raises InputError if it is neither, or holds no list.
    """
    if path.suffix != ".json":
        return expectation_from(analyze(path))
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is too large for advice")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON") from error
    value = data.get("dynamic_sources") if isinstance(data, dict) else None
    if (
        not isinstance(value, str)
        or "\0" in value
        or len(value.encode("utf-8", "replace")) > MAX_VALUE_BYTES
    ):
        raise InputError(
            f"{path} holds no list `dynamic_sources`; `pgo-advisor analyze --json` writes one"
        )
    try:
        predicted = _predicted(data)
        total = _range(data["totals"]["predicted_compiles"]) if "totals" in data else None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is not as `pgo-advisor analyze --json` writes it: {error!r}"
        ) from error
    return Expectation(value, total, predicted, None)


def _predicted(data: dict[str, Any]) -> dict[Function, Range]:
    predicted: dict[Function, Range] = {}
    for frame in data.get("frames", []):
        function = Function(str(frame["name"]), str(frame["file"]), int(frame["line"]))
        found = predicted.get(function, Range(0, 0)) + _range(frame["predicted_compiles"])
        predicted[function] = found
    return predicted


def _range(pair: Any) -> Range:
    low, high = pair
    return Range(int(low), None if high is None else int(high))
