"""The report as a page, and its short form for a notebook."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pgo_advisor.render import charts
from pgo_advisor.render.answer import answer
from pgo_advisor.render.charts import FIRST, CompileRow
from pgo_advisor.render.env import export, unbacked_option
from pgo_advisor.render.groups import alike, processes
from pgo_advisor.render.measured import caution, sentences, table
from pgo_advisor.render.snippet import render_snippet
from pgo_advisor.render.templates import environment, inlined
from pgo_advisor.render.text import kind_in_words
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Recompile, Report
from pgo_advisor.rules import RULES
from pgo_advisor.tables import Tables

if TYPE_CHECKING:
    from pgo_advisor.patch import Patch

MOST_COMPILES = 500
_MAX_FRAMES = 100
_MAX_ADVICE = 100
_MAX_FINDINGS = 200
_MAX_CAUSES = 4
_MAX_MEASURED = 100


def render_html(
    report: Report,
    tables: Tables,
    *,
    patch: Patch | None = None,
    repo_url: str | None = None,
    reports: Iterable[tuple[PurePath, Path]] = (),
    directory: Path | None = None,
) -> str:
    """One self-contained page. It loads nothing: its policy allows only its own style and script.

    A `patch` that changes something takes the snippet's place, its files linked to where `repo_url` has
    them (`https://…/blob/main`). `reports` are tlparse's, each with its log; they are linked as
    from a page in `directory`.
    """
    style, script = inlined("report.css"), inlined("report.js")
    section = None
    if patch:
        from pgo_advisor.render.patch import html_section

        style += inlined("patch.css")
        section = html_section(patch, repo_url)
    compiles = compile_rows(report, tables)
    shown = compiles
    if len(compiles) > MOST_COMPILES:
        shown = sorted(compiles, key=lambda row: -row.seconds)[:MOST_COMPILES]
    timeline = charts.timeline(compiles)
    groups = alike(report.advice)
    measured = report.measured
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            **_common(report),
            policy=(
                f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
                "img-src data:; base-uri 'none'; form-action 'none'"
            ),
            style=style,
            script=script,
            spent=_spent(report),
            frames=report.frames[:_MAX_FRAMES],
            groups=groups[:_MAX_ADVICE],
            more_groups=max(0, len(groups) - _MAX_ADVICE),
            findings=report.findings[:_MAX_FINDINGS],
            snippet=render_snippet(report),
            patch_section=section,
            reports=_links(reports, directory),
            patched=bool(patch and patch.diff),
            unbacked=unbacked_option(report),
            timeline=timeline,
            colors={entry.cause: entry.css for entry in timeline.legend} if timeline else {},
            compiles=shown,
            all_compiles=len(compiles),
            ranked=any(row.ranks for row in compiles),
            processes=processes(report),
            one_of_each=any(len(group.logs) > 1 for group in report.processes),
            first=FIRST,
            rules=RULES,
            version=metadata.version("pgo-advisor"),
            caution=caution(report),
            measured_rows=table(measured)[:_MAX_MEASURED] if measured else [],
            measured_sentences=list(sentences(measured))[1:] if measured else [],
        )
    )


def render_notebook(report: Report) -> str:
    """A fragment for a notebook's output: the answer and the functions. Its style reaches nothing else."""
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(**_common(report), frames=report.frames[:10], groups=alike(report.advice))
    )


def _links(
    reports: Iterable[tuple[PurePath, Path]], directory: Path | None
) -> list[tuple[str, str]]:
    return [
        (log.name, quote(Path(os.path.relpath(page, directory)).as_posix()))
        for log, page in reports
    ]


def _common(report: Report) -> dict[str, Any]:
    return {
        "report": report,
        "totals": report.totals,
        "answer": answer(report),
        "export": export(report).rstrip("\n"),
    }


def compile_rows(report: Report, tables: Tables) -> list[CompileRow]:
    """All compiles in the order of the trace, of processes that compiled alike those of the first."""
    ranks = {group.logs[0]: group.label for group in report.processes}
    again = {recompile.compile: recompile for recompile in report.recompiles}
    names = {(frame.file, frame.line, frame.name): frame.id for frame in report.frames}
    found = []
    for row in rows(tables.compiles):
        if row["log"] in ranks:
            place = row["file"], row["line"], row["name"]
            first = names.get(place) or row["name"] or "<unknown>"
            found.append(_compile_row(row, again.get(row["compile"]), first, ranks[row["log"]]))
    return found


def _compile_row(
    row: Mapping[str, Any], recompile: Recompile | None, name: str, ranks: str
) -> CompileRow:
    causes = recompile.causes if recompile else ()
    return CompileRow(
        compile_id=row["compile_id"] or "",
        ranks=ranks,
        frame=recompile.frame if recompile else name,
        cause=kind_in_words(causes[0].kind) if causes else FIRST,
        changes=tuple(
            (kind_in_words(cause.kind), cause.where, cause.change) for cause in causes[:_MAX_CAUSES]
        ),
        more=max(0, len(causes) - _MAX_CAUSES),
        start=row["start"],
        seconds=row["seconds"] or 0.0,
        removed=recompile is not None and recompile.removed,
    )


def _spent(report: Report) -> list[tuple[str, float, float, float]]:
    """Where the seconds went: name, start and length in percent, seconds."""
    totals = report.totals
    parts = {
        "first compiles": totals.seconds - totals.recompile_seconds,
        "recompiles that stay": totals.recompile_seconds - totals.saved_seconds,
        "recompiles that go": totals.saved_seconds,
    }
    return [(name, at, length, parts[name]) for name, at, length in charts.shares(parts)]


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
