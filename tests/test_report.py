"""The report's classes, the JSON and the schema are one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from hostile import measured

from pgo_advisor.advice import words
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.render.json import LATER, as_dict, schema
from pgo_advisor.report import CallSite, Cause, FrameReport, Range, Recompile, Report, Verdict

REPORT = Report(
    frames=(
        FrameReport(
            id="f",
            name="f",
            file="f.py",
            line=1,
            ranks=(None,),
            compiles=2,
            seconds=0.1 + 0.2,
            predicted=Range(1, None),
            unsure=(),
            saved_seconds=0.0,
            verdict=Verdict.marking_helps,
            why="",
            causes={CauseKind.tensor_size: 1},
            call_sites=(CallSite("main.py", 3, "f(x)", "library.py"),),
        ),
    ),
    recompiles=(
        Recompile(
            compile=7,
            log=0,
            compile_id="0/1",
            rank=None,
            frame="f",
            causes=(Cause(CauseKind.tensor_size, "L['x']", 0, "2", "3"),),
            start=None,
            seconds=0.1,
            removed=True,
        ),
    ),
    measured=measured(["x"]),
)


def test_the_json_is_plain_data() -> None:
    data = as_dict(REPORT)
    (frame,) = data["frames"]
    assert frame["predicted_compiles"] == [1, None]
    assert frame["seconds"] == 0.3
    assert frame["causes"] == {"tensor-size": 1}
    assert data["measured"]["with"] == "mark"
    assert data["measured"]["before"]["wall_seconds"] == [1.0, 2.0]


def test_what_leads_back_to_the_tables_is_not_in_the_json() -> None:
    data = as_dict(REPORT)
    assert not {"compile", "log"} & data["recompiles"][0].keys()
    assert data["frames"][0]["call_sites"] == [{"file": "main.py", "line": 3, "code": "f(x)"}]


@pytest.mark.slow
def test_the_schema_takes_it_and_asks_for_every_field() -> None:
    data = as_dict(REPORT)
    jsonschema.validate(data, schema())
    for path in (("totals",), ("frames", 0), ("frames", 0, "call_sites", 0), ("recompiles", 0), ()):
        for name in _at(data, path):
            lacking = deepcopy(data)
            del _at(lacking, path)[name]
            if name in LATER:
                jsonschema.validate(lacking, schema())
            else:
                with pytest.raises(jsonschema.ValidationError):
                    jsonschema.validate(lacking, schema())


def test_the_schema_describes_fields_by_their_docstrings() -> None:
    totals = schema()["$defs"]["Totals"]["properties"]
    assert totals["predicted_compiles"]["description"] == "Compiles with all of the advice."
    assert "description" not in totals["compiles"]


def test_no_two_codes_have_the_same_sentence() -> None:
    for codes in words.Code.__subclasses__():
        assert len(codes.__members__) == len(list(codes)), codes


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def test_parts_of_other_reports_are_not_in_the_schema() -> None:
    """`diff` has parts of the same names."""
    import pgo_advisor.diff.changes  # noqa: F401

    schema.cache_clear()
    assert "torch_version" in schema()["$defs"]["Report"]["properties"]
