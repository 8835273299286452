"""The rules: for each cause of recompiles what it means and what helps, one module a rule."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from msgspec.structs import replace

from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Claim, Rule
from pgo_advisor.rules.code_object import CodeObject

__all__ = ["RULES", "Rule", "findings_of"]


def _collect() -> dict[str, Rule]:
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.code)}


RULES: dict[str, Rule] = _collect()
"""The rule of each name, in the order of their codes."""


def findings_of(code: CodeObject) -> Iterator[Finding]:
    """What the rules find in a code object, each recompile counted with the finding of its main cause."""
    found = [each for rule in RULES.values() for each in rule.findings(code)]
    counted: list[dict[int, Claim]] = [{} for _ in found]
    for key in dict.fromkeys(key for each in found for key in each.claims):
        first = min(
            (each.claims[key], index) for index, each in enumerate(found) if key in each.claims
        )
        counted[first[1]][key] = first[0]
    for each, claims in zip(found, counted, strict=True):
        yield replace(
            each.finding,
            compiles=len(claims),
            seconds=each.finding.seconds + sum(claim.seconds for claim in claims.values()),
        )
