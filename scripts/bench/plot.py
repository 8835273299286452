"""Draws the growth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and MB against each number, both axes logarithmic: what is linear has the grey line's slope."""
    mpl.rcParams["svg.hashsalt"] = "growth"
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    figure, axes = plt.subplots(2, len(kinds), figsize=(3.4 * len(kinds), 5.6), sharey="row")
    for column, kind in enumerate(kinds):
        own = [row for row in rows if row["kind"] == kind]
        numbers = [row["number"] for row in own]
        for axis, key, unit, title in (
            (axes[0][column], "wall", 1, "seconds"),
            (axes[1][column], "peak", 1e6, "MB, all processes"),
        ):
            values = [row[key] / unit for row in own]
            axis.loglog(numbers, values, marker="o", color="#1f6f78")
            last = values[-1] / numbers[-1]
            axis.loglog(numbers, [last * number for number in numbers], color="#bbbbbb", zorder=0)
            axis.grid(alpha=0.3)
            axis.set_ylim(bottom=0.3 if unit == 1 else 50)
            if column == 0:
                axis.set_ylabel(title)
        axes[1][column].set_xlabel(kind)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
