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
    for line, (key, unit, title, bottom) in enumerate(
        (("wall", 1, "seconds", 0.3), ("peak", 1e6, "MB, all processes", 50))
    ):
        for axis, kind in zip(axes[line], kinds, strict=True):
            own = [row for row in rows if row["kind"] == kind]
            numbers = [row["number"] for row in own]
            values = [row[key] / unit for row in own]
            last = values[-1] / numbers[-1]
            axis.loglog(numbers, [last * number for number in numbers], color="#bbbbbb")
            axis.loglog(numbers, values, marker="o", color="#1f6f78")
            axis.grid(alpha=0.3)
            for side in (axis.xaxis, axis.yaxis):
                side.set_major_formatter("{x:,g}")
                side.set_minor_formatter("")
        axes[line][0].set_ylabel(title)
        axes[line][0].set_ylim(bottom, 2 * max(row[key] / unit for row in rows))
    for axis, kind in zip(axes[1], kinds, strict=True):
        axis.set_xlabel(kind)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
