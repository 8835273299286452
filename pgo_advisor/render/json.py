"""The analysis as JSON, by a versioned schema that ships as `analysis.schema.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from pgo_advisor.analysis import Analysis
from pgo_advisor.ranges import Range
from pgo_advisor.render.measured import as_dict as measured_dict
from pgo_advisor.report import Advice, Finding, FrameReport, Recompile, Seen

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes; new fields do not raise it."""


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `as_dict` returns."""
    text = files("pgo_advisor.render").joinpath("analysis.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def render_json(analysis: Analysis) -> str:
    """`as_dict` as indented JSON, ASCII only: whatever the names in the trace hold, it is valid."""
    return json.dumps(as_dict(analysis), indent=2) + "\n"


def as_dict(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain data; every range of compiles is `[low, high]`, `high` null if open."""
    totals = analysis.totals
    advised = analysis.advised
    return {
        "schema_version": SCHEMA_VERSION,
        "torch_version": None if analysis.release is None else str(analysis.release),
        "logs": [str(path) for path in analysis.logs],
        "losses": list(analysis.losses),
        "notes": list(analysis.notes),
        "totals": {
            "compiles": totals.compiles,
            "recompiles": totals.recompiles,
            "seconds": _seconds(totals.seconds),
            "recompile_seconds": _seconds(totals.recompile_seconds),
            "predicted_compiles": _range(totals.predicted),
            "saved_seconds": _seconds(totals.saved_seconds),
            "unknown_causes": totals.unknown_causes,
            "unfinished": totals.unfinished,
        },
        "dynamic_sources": analysis.dynamic_sources,
        "unbacked_sources": advised.unbacked_sources.value,
        "dynamic_sources_beside_unbacked": analysis.dynamic_sources_beside_unbacked,
        "unbacked_saves": advised.unbacked_saves,
        "unexpressible": [
            {"source": entry.source, "dim": entry.dim, "why": why}
            for entry, why in advised.dynamic_sources.unexpressible
        ],
        "frames": [_frame(frame) for frame in analysis.frames],
        "recompiles": [_recompile(recompile) for recompile in analysis.recompiles],
        "advice": [_advice(advice) for advice in analysis.advice],
        "findings": [_finding(finding) for finding in analysis.findings],
        "processes": [
            {
                "logs": list(group.logs),
                "ranks": list(group.ranks),
                "compiles": group.compiles,
                "differs": list(group.differs),
            }
            for group in analysis.processes
        ],
        "measured": None if analysis.measured is None else measured_dict(analysis.measured),
    }


def _frame(frame: FrameReport) -> dict[str, Any]:
    return {
        "id": frame.id,
        "name": frame.name,
        "file": frame.file,
        "line": frame.line,
        "ranks": list(frame.ranks),
        "compiles": frame.compiles,
        "predicted_compiles": _range(frame.predicted),
        "unsure": list(frame.unsure),
        "seconds": _seconds(frame.seconds),
        "saved_seconds": _seconds(frame.saved_seconds),
        "verdict": frame.verdict.value,
        "why": frame.why,
        "causes": {kind.value: count for kind, count in frame.causes.items()},
        "call_sites": [
            {"file": site.file, "line": site.line, "code": site.code} for site in frame.call_sites
        ],
    }


def _recompile(recompile: Recompile) -> dict[str, Any]:
    return {
        "compile_id": recompile.compile_id,
        "rank": recompile.rank,
        "frame": recompile.frame,
        "start": recompile.start,
        "seconds": _seconds(recompile.seconds),
        "removed": recompile.removed,
        "causes": [_cause(cause) for cause in recompile.causes],
    }


def _cause(cause: Seen) -> dict[str, Any]:
    return {
        "kind": cause.kind.value,
        "source": cause.source,
        "dim": cause.dim,
        "expected": cause.expected,
        "actual": cause.actual,
        "text": cause.text,
        "user_code": cause.user_code,
        "user_location": cause.user_location,
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "rule": advice.rule,
        "frame": advice.frames[0],
        "frames": list(advice.frames),
        "source": advice.source,
        "dim": advice.dim,
        "remedy": advice.remedy.value,
        "why_remedy": advice.why_remedy,
        "list_entry": advice.list_entry,
        "code": advice.code,
        "condition": advice.condition,
        "saved_compiles": None if advice.saved is None else _range(advice.saved),
        "saved_seconds": _seconds(advice.saved_seconds),
        "values": list(advice.values),
        "together": [{"source": pair.source, "dim": pair.dim} for pair in advice.together],
        "evidence": list(advice.evidence),
        "price": list(advice.price),
        "also_touches": list(advice.also_touches),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "frames": list(finding.frames),
        "summary": finding.summary,
        "fix": finding.fix,
        "compiles": finding.compiles,
        "seconds": _seconds(finding.seconds),
        "evidence": list(finding.evidence),
    }


def _range(number: Range) -> list[int | None]:
    return [number.low, number.high]


def _seconds(value: float) -> float:
    return round(value, 6)
