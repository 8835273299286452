"""Writes docs/tables.md and docs/rules.md from the code: `python scripts/docs.py`."""

from __future__ import annotations

from pathlib import Path

from pgo_advisor.render.explain import explain_all, explain_one
from pgo_advisor.rules import RULES
from pgo_advisor.tables import COLUMNS, Tables

DOCS = Path(__file__).parents[1] / "docs"


def tables() -> str:
    """The page on the tables."""
    lines = [
        "# The tables",
        "",
        "`pgo_advisor.analyze(...).tables` holds these pandas DataFrames; `--parquet DIR` writes a file for",
        "each, and `pgo_advisor.Tables.from_parquet(DIR)` reads them back identical.",
        "",
        *(line.strip() for line in (Tables.__doc__ or "").strip().split("\n")),
        "Every table joins with the others on `compile`.",
    ]
    for name, columns in COLUMNS.items():
        lines += ["", f"## {name}", "", "| column | dtype | meaning |", "|---|---|---|"]
        lines += [
            f"| `{column}` | {told.dtype} | {told.meaning} |" for column, told in columns.items()
        ]
    return "\n".join(lines) + "\n"


def rules() -> str:
    """The page on rules and causes, as `pgo-advisor explain` prints them."""
    lines = ["# Rules and causes", "", "```", explain_all().rstrip(), "```"]
    for rule in RULES.values():
        lines += ["", f"## {rule.id}", "", "```", (explain_one(rule.id) or "").rstrip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    (DOCS / "tables.md").write_text(tables())
    (DOCS / "rules.md").write_text(rules())
