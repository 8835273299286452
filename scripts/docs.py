"""Writes docs/tables.md and the pages of rules from the code, and the figures of docs/speed.md from its JSON.

Run it as `python -m scripts.docs`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pgo_advisor.render.explain import CAUSES, page
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


def rules() -> dict[str, str]:
    """The index of rules and causes and the page of each rule, by their names in docs."""
    index = [
        "# Rules and causes",
        "",
        "A rule tells what a cause of recompiles means, what helps, and when not to follow that.",
        "`pgo-advisor explain PGO105`, or `explain zero-one`, prints a rule's page.",
        "",
        "| code | rule | |",
        "|---|---|---|",
        *(f"| {r.code} | [{r.id}](rules/{r.id}.md) | {r.title} |" for r in RULES.values()),
        "",
        "| cause | what it means | rules |",
        "|---|---|---|",
        *(
            f"| {kind.value} | {meaning} | "
            + ", ".join(rule.code for rule in RULES.values() if kind in rule.causes)
            + " |"
            for kind, meaning in CAUSES.items()
        ),
    ]
    pages = {f"rules/{rule.id}.md": page(rule) for rule in RULES.values()}
    return {"rules.md": "\n".join(index) + "\n", **pages}


_FIGURES = ("<!-- figures -->\n", "<!-- end of figures -->\n")


def speed() -> str:
    """The page on speed, with the tables of what `scripts/bench` measured last."""
    before, _, rest = (DOCS / "speed.md").read_text().partition(_FIGURES[0])
    figures = json.loads((DOCS / "speed.json").read_text())
    return "".join(
        [before, _FIGURES[0], *_figures(figures), _FIGURES[1], rest.partition(_FIGURES[1])[2]]
    )


def _figures(figures: dict[str, Any]) -> list[str]:
    machine = figures["machine"]
    names = {
        "large": f"one log of {machine['size_mb']} MB",
        "small": "one log of 300 kB, gzipped",
        "ranks": f"{machine['ranks']:,} logs of 350 kB",
        "cluster": "the same, on two Dask workers",
    }
    what = {
        "pgo_advisor": "**pgo-advisor analyze --html --json**",
        "tlparse": "tlparse",
        "tlhub": "tlhub's ingestion",
        "help": "pgo-advisor --help",
    }
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}; medians of the runs "
        "that the last column tells, in turn.\n",
        "\n| | | seconds | of it without a tlparse running | MB, all processes | runs |\n"
        "|---|---|--:|--:|--:|--:|\n",
    ]
    for name, title in names.items():
        for run, row in figures.get(name, {}).items():
            own = f"{row['own']:.2f}" if run == "pgo_advisor" else ""
            lines.append(
                f"| {title} | {what[run]} | {row['wall']:.2f} | {own} | {row['peak'] / 1e6:,.0f} "
                f"| {row['runs']} |\n"
            )
            title = ""
    if "growth" not in figures:
        return lines
    lines.append("\n| growth | number | seconds | MB |\n|---|--:|--:|--:|\n")
    kind = None
    for row in figures["growth"]:
        shown = "" if row["kind"] == kind else row["kind"]
        kind = row["kind"]
        lines.append(
            f"| {shown} | {row['number']:,} | {row['wall']:.2f} | {row['peak'] / 1e6:,.0f} |\n"
        )
    return lines


if __name__ == "__main__":
    (DOCS / "rules").mkdir(parents=True, exist_ok=True)
    (DOCS / "tables.md").write_text(tables())
    for name, text in rules().items():
        (DOCS / name).write_text(text)
    (DOCS / "speed.md").write_text(speed())
