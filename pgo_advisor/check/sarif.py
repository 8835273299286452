"""Violations as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any
from urllib.parse import quote

from pgo_advisor.check.violations import NEW, Checked, Violation
from pgo_advisor.compare.places import Checkout
from pgo_advisor.render.text import one_line
from pgo_advisor.rules import RULES

RESULTS = 5_000
"""What code scanning shows of a run; the most expensive stay."""
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_BUDGETS = {
    NEW: "A recompile that the baseline does not have",
    "max-recompiles": "More recompiles than allowed",
    "max-compile-seconds": "Compiling took longer than allowed",
    "max-graphs": "A function has more graphs than allowed",
    "no-limit-hit": "A function hit the recompile limit",
    "no-eager-fallback": "A function runs eagerly",
}


def render_sarif(checked: Checked, checkout: Checkout) -> str:
    """At most 5,000 results, at paths from the root, with fingerprints that stay when lines move."""
    results = [_result(item, checkout) for item in checked.violations[:RESULTS]]
    rules = sorted({result["ruleId"] for result in results})
    run = {
        "tool": {
            "driver": {
                "name": "pgo-advisor",
                "version": metadata.version("pgo-advisor"),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(rule: str) -> dict[str, Any]:
    for known in RULES.values():
        if known.code == rule:
            sections = known.sections
            help_ = "\n\n".join(
                f"## {heading}\n\n{''.join(sections[heading]).strip()}" for heading in sections
            )
            return {
                "id": rule,
                "name": known.id,
                "shortDescription": {"text": known.title},
                "help": {"text": help_},
            }
    of_all = rule.startswith("max-recompiles")
    return {
        "id": rule,
        "shortDescription": {"text": _BUDGETS["max-recompiles" if of_all else rule]},
    }


def _result(item: Violation, checkout: Checkout) -> dict[str, Any]:
    text = one_line(item.message, 600) + (f" {one_line(item.cure, 900)}" if item.cure else "")
    result: dict[str, Any] = {"ruleId": item.rule, "level": "error", "message": {"text": text}}
    if item.place:
        file = checkout.shown(item.place.file)
        region: dict[str, Any] = {"startLine": item.place.line}
        if item.place.code:
            region["snippet"] = {"text": one_line(item.place.code, 300)}
        where = {"artifactLocation": {"uri": _uri(file)}, "region": region}
        result["locations"] = [{"physicalLocation": where}]
    own = checkout.shown(item.file) if item.file else ""
    result["partialFingerprints"] = {"pgoAdvisor/v1": item.fingerprint(own)}
    return result


def _uri(file: str) -> str:
    """A relative reference; a colon in its first part would begin a scheme."""
    return quote(file.encode("utf-8", "replace"))
