"""The rules: for each cause of recompiles what it means and what helps, one module a rule."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from pgo_advisor.rules.base import Rule

__all__ = ["RULES", "Rule"]


def _collect() -> dict[str, Rule]:
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return {rule.id: rule for rule in sorted(rules, key=lambda rule: rule.code)}


RULES: dict[str, Rule] = _collect()
"""The rule of each name, in the order of their codes."""
