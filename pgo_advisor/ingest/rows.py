"""The rows that a log gives, of whatever kind it is, and those that traces and console text both have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pgo_advisor.dynamo.guard_failures import Failure
from pgo_advisor.dynamo.sources import tensor_property

Row = dict[str, Any]
_GRAPH_BREAK = re.compile(
    r"Graph [Bb]reak(?: Reason)?:\s*(?:Encountered graph break when attempting to trace [^\n]*\s*)?(.*)"
)
_BREAK_PLACE = re.compile(r"(.*):(\d{1,18})")


@dataclass
class LogRows:
    """The rows that one log gives, by table; what of it was lost, and what else is to say, in sentences.

    `compile`, `frame` and `against` count from 0 within the log; `log` and `rank` are not yet in the rows.
    """

    rows: dict[str, list[dict[str, Any]]]
    rank: int | None
    losses: list[str]
    notes: list[str] = field(default_factory=list)


def break_row(text: str) -> Row:
    """A row of the table graph_breaks, but for its keys, from PyTorch's text."""
    place = _BREAK_PLACE.match(text.partition(" in user code at ")[2])
    reason = _GRAPH_BREAK.search(text, text.find("\n"))
    _, stack, code = text.rpartition(f", line {place[2]}, in ") if place else ("", "", "")
    return {
        "reason": reason[1] if reason else text.partition("\n")[0],
        "user_file": place and place[1],
        "user_line": place and int(place[2]),
        "user_code": code.partition("\n")[2].partition("\n")[0].strip() or None if stack else None,
    }


def named_property(name: str, symbol: str) -> Row:
    """What a symbol stands for: columns source, kind and dim of the table symbols."""
    if found := tensor_property(name):
        kind, (source, dim) = found
        return {"source": source, "kind": kind, "dim": dim}
    for kind in ("storage_offset", "item"):
        if (source := name.removesuffix(f".{kind}()")) != name:
            return {"source": source, "kind": kind, "dim": None}
    return {"source": name, "kind": "float" if symbol.startswith("zf") else "int", "dim": None}


def failure_row(order: int, failure: Failure, against: int | None) -> Row:
    """A row of the table guard_failures, but for its keys; `against` is the key of the earlier compile."""
    cause = failure.cause
    return {
        "order": order,
        "against": against,
        "text": failure.text,
        "cause": cause.kind.value,
        "source": cause.source,
        "dim": cause.dim,
        "expected": cause.expected,
        "actual": cause.actual,
        "guard": cause.guard,
        "user_code": cause.user_line,
        "user_location": cause.user_location,
    }
