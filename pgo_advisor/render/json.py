"""The report as JSON, by a versioned schema. Both are made from the classes in `pgo_advisor.report`."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from pgo_advisor.report import Part, Report
from pgo_advisor.report.measured import Spread

LATER = {
    "calls",
    "measured",
    "lines",
    "fate",
    "least_saved_seconds",
    "opportunities",
    "processes_compiling",
    "severities",
    "slowest",
}
"""What reports of version 1 did not have from the start."""


def render_json(report: Part) -> str:
    """`as_dict` as indented JSON, ASCII only: whatever the names in the trace hold, it is valid."""
    return json.dumps(as_dict(report), indent=2) + "\n"


def as_dict(report: Part) -> dict[str, Any]:
    """The report as plain data; every range of compiles is `[low, high]`, `high` null if open."""
    data: dict[str, Any] = _plain(report)
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return {
            field.encode_name: _plain(getattr(value, field.name)) for field in _fields(type(value))
        }
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return round(value, 6) if isinstance(value, float) else value


@cache
def _fields(part: type[Part]) -> list[msgspec.structs.FieldInfo]:
    """Those that are in the JSON."""
    return [field for field in msgspec.structs.fields(part) if field.name not in part.hidden]


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `as_dict` returns. Its descriptions are the docstrings."""
    made = msgspec.json.schema(Report, schema_hook=_schema_hook)
    for part in _parts(Part):
        # elsewhere, as in diff, parts have the same names
        own = part.__module__.startswith("pgo_advisor.report")
        if own and (definition := made["$defs"].get(part.__name__)):
            described = _descriptions(part)
            definition["properties"] = {
                field.encode_name: definition["properties"][field.encode_name]
                | described.get(field.name, {})
                for field in _fields(part)
            }
            # all is written, always
            definition["required"] = [
                name for name in definition["properties"] if name not in LATER
            ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "pgo-advisor/analysis/1",
        "title": "pgo-advisor analysis",
        **made,
    }


def _schema_hook(kind: type) -> dict[str, Any]:
    if kind is Spread:
        return {"type": "array", "items": {"type": "number"}}
    raise NotImplementedError


def _parts(part: type[Part]) -> Iterator[type[Part]]:
    yield part
    for derived in part.__subclasses__():
        yield from _parts(derived)


def _descriptions(part: type[Part]) -> dict[str, dict[str, str]]:
    """The strings that stand below fields, which Python itself does not keep."""
    (node,) = ast.parse(inspect.getsource(part)).body
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {
        field.target.id: {"description": inspect.cleandoc(str(doc.value.value))}
        for field, doc in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant)
    }
