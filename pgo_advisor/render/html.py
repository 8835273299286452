"""The report as a page, and its short form for a notebook."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pgo_advisor
from pgo_advisor.analysis import Analysis
from pgo_advisor.render import charts
from pgo_advisor.render.charts import FIRST, CompileRow
from pgo_advisor.render.measured import caution, sentences, table
from pgo_advisor.render.report import (
    alike,
    answer,
    kind_in_words,
    processes,
)
from pgo_advisor.render.templates import environment, inlined
from pgo_advisor.render.text import unbacked_option
from pgo_advisor.replay.frames import rows
from pgo_advisor.rules import RULES

if TYPE_CHECKING:
    from pgo_advisor.patch import Patch

MOST_COMPILES = 500
_MAX_FRAMES = 100
_MAX_ADVICE = 100
_MAX_FINDINGS = 200
_MAX_CAUSES = 4
_MAX_MEASURED = 100


def render_html(
    analysis: Analysis,
    *,
    patch: Patch | None = None,
    repo_url: str | None = None,
    directory: Path | None = None,
) -> str:
    """One self-contained page. It loads nothing: its policy allows only its own style and script.

    A `patch` that changes something takes the snippet's place, its files linked to where `repo_url` has
    them (`https://…/blob/main`). tlparse's reports are linked as from a page in `directory`.
    """
    style, script = inlined("report.css"), inlined("report.js")
    section = None
    if patch:
        from pgo_advisor.render.patch import html_section

        style += inlined("patch.css")
        section = html_section(patch, repo_url)
    compiles = compile_rows(analysis)
    shown = compiles
    if len(compiles) > MOST_COMPILES:
        shown = sorted(compiles, key=lambda row: -row.seconds)[:MOST_COMPILES]
    timeline = charts.timeline(compiles)
    groups = alike(analysis.advice)
    measured = analysis.measured
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **_common(analysis),
            policy=(
                f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
                "img-src data:; base-uri 'none'; form-action 'none'"
            ),
            style=style,
            script=script,
            spent=_spent(analysis),
            frames=analysis.frames[:_MAX_FRAMES],
            groups=groups[:_MAX_ADVICE],
            more_groups=max(0, len(groups) - _MAX_ADVICE),
            findings=analysis.findings[:_MAX_FINDINGS],
            snippet=analysis.snippet(),
            patch_section=section,
            reports=[
                (log.name, quote(Path(os.path.relpath(page, directory)).as_posix()))
                for log, page in analysis.reports
            ],
            patched=bool(patch and patch.diff),
            unbacked=unbacked_option(analysis),
            timeline=timeline,
            colors={entry.cause: entry.css for entry in timeline.legend} if timeline else {},
            compiles=shown,
            all_compiles=len(compiles),
            ranked=any(row.ranks for row in compiles),
            processes=processes(analysis),
            one_of_each=any(len(group.logs) > 1 for group in analysis.processes),
            first=FIRST,
            rules=RULES,
            version=pgo_advisor.__version__,
            caution=caution(analysis),
            measured_rows=table(measured)[:_MAX_MEASURED] if measured else [],
            measured_sentences=list(sentences(measured))[1:] if measured else [],
        )
    )


def render_notebook(analysis: Analysis) -> str:
    """A fragment for a notebook's output: the answer and the functions. Its style reaches nothing else."""
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(**_common(analysis), frames=analysis.frames[:10], groups=alike(analysis.advice))
    )


def _common(analysis: Analysis) -> dict[str, Any]:
    return {
        "analysis": analysis,
        "totals": analysis.totals,
        "answer": answer(analysis),
        "export": analysis.env("shell").rstrip("\n"),
    }


def compile_rows(analysis: Analysis) -> list[CompileRow]:
    """All compiles in the order of the trace, of processes that compiled alike those of the first."""
    ranks = {group.logs[0]: group.label for group in analysis.processes}
    again = {recompile.compile: recompile for recompile in analysis.recompiles}
    names = {(frame.file, frame.line, frame.name): frame.id for frame in analysis.frames}
    found = []
    for row in rows(analysis.tables.compiles):
        if row["log"] not in ranks:
            continue
        recompile = again.get(row["compile"])
        causes = recompile.causes if recompile else ()
        found.append(
            CompileRow(
                compile_id=row["compile_id"] or "",
                ranks=ranks[row["log"]],
                frame=recompile.frame
                if recompile
                else names.get((row["file"], row["line"], row["name"]), row["name"] or "<unknown>"),
                cause=kind_in_words(causes[0].kind) if causes else FIRST,
                changes=tuple(
                    (
                        kind_in_words(cause.kind),
                        cause.where,
                        cause.change,
                    )
                    for cause in causes[:_MAX_CAUSES]
                ),
                more=max(0, len(causes) - _MAX_CAUSES),
                start=row["start"],
                seconds=row["seconds"] or 0.0,
                removed=recompile is not None and recompile.removed,
            )
        )
    return found


def _spent(analysis: Analysis) -> list[tuple[str, float, float, float]]:
    """Where the seconds went: name, start and length in percent, seconds."""
    totals = analysis.totals
    parts = {
        "first compiles": totals.seconds - totals.recompile_seconds,
        "recompiles that stay": totals.recompile_seconds - totals.saved_seconds,
        "recompiles that go": totals.saved_seconds,
    }
    return [(name, at, length, parts[name]) for name, at, length in charts.shares(parts)]


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
