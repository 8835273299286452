"""The report as a page, and its short form for a notebook."""

from __future__ import annotations

import base64
import gzip
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup
from msgspec.structs import replace

from pgo_advisor.render import calls, charts, pastes
from pgo_advisor.render.answer import answer, doubts, severe, sure
from pgo_advisor.render.compiles import (
    CompileGroup,
    CompileRow,
    compile_rows,
    grouped,
    over_functions,
    settings,
)
from pgo_advisor.render.env import export, unbacked_option
from pgo_advisor.render.glossary import TERMS
from pgo_advisor.render.groups import alike, alike_findings, alike_functions, processes, ruled_out
from pgo_advisor.render.icicle import NARROW, icicle
from pgo_advisor.render.json import render_json
from pgo_advisor.render.measured import caution, sentences, table
from pgo_advisor.render.opportunities import cards
from pgo_advisor.render.templates import environment, inlined, policy_hash
from pgo_advisor.render.timeline import MAX_BARS, timelines
from pgo_advisor.report import Report
from pgo_advisor.rules import RULES
from pgo_advisor.tables import Tables

if TYPE_CHECKING:
    from pgo_advisor.patch import Patch

MAX_PAGE = 300_000
"""Bytes of a page."""
_TIGHT = (1, 2, 4, 8, 16, 32)
_LONGEST_PASTE = 40_000
_MAX_JSON = 45_000
"""Bytes of the report's JSON, compressed."""
_MAX_ITEMS = 3_000
"""Of more recompiles, functions, advice and findings the JSON is never that small: it is not tried."""


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
    section = Markup()
    if patch and patch.diff:
        from pgo_advisor.render.patch import html_section

        style += inlined("patch.css")
        section = html_section(patch, repo_url)
    content = {
        **_answer(report),
        **_record(report, tables),
        **_calls(report),
        "policy": (
            f"default-src 'none'; style-src '{policy_hash(style)}'; script-src '{policy_hash(script)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "script": script,
        "env_pastes": pastes.environment(report),
        "python_pastes": pastes.in_python(report),
        "marks": pastes.marks(report),
        "unmarked": pastes.unmarked(report),
        "library_calls": pastes.library_calls(report),
        "patch_section": section,
        "unbacked": unbacked_option(report),
        "opportunities": cards(report, tables),
        "findings": alike_findings(found for found in report.uncured if found.compiles),
        "risks": alike_findings(found for found in report.findings if not found.compiles),
        "functions": alike_functions(report.frames),
        "ruled_out": list(ruled_out(report)),
        "reports": _links(reports, directory),
    }
    return _bounded(content, compile_rows(report, tables))


def _bounded(content: dict[str, Any], rows: Sequence[CompileRow]) -> str:
    """The page with as much of the content as MAX_PAGE has room for; it says how much it leaves out."""
    groups = grouped(rows)
    page = ""
    for tight in _TIGHT:
        page = (
            environment(tight)
            .get_template("report.html.j2")
            .render(
                **content,
                **_pictures(rows, groups, tight),
                longest_paste=_LONGEST_PASTE if tight < _TIGHT[-2] else _LONGEST_PASTE // tight,
            )
        )
        if len(page.encode()) <= MAX_PAGE:
            break
    return page


def render_notebook(report: Report) -> str:
    """A fragment for a notebook's output: the answer and the functions. Its style reaches nothing else."""
    return (
        environment()
        .get_template("notebook.html.j2")
        .render(
            report=report,
            answer=answer(report),
            severe=severe(report),
            export=export(report).rstrip("\n"),
            frames=report.frames[:10],
            groups=alike(report.advice),
        )
    )


def _answer(report: Report) -> dict[str, Any]:
    of_kind = [
        [found for found in report.findings if found.consequence is one.kind]
        for one in report.severities
    ]
    return {
        "report": report,
        "totals": report.totals,
        "answer": answer(report),
        "severe": list(zip(severe(report), of_kind, strict=True)),
        "balance": charts.balance_bar(report),
        "sure": sure(report).partition(": ")[2],
        "doubts": doubts(report),
        "caution": caution(report),
        **_lines(report),
    }


class _Line(NamedTuple):
    file: str
    line: int
    code: str | None


def _lines(report: Report) -> dict[str, Callable[[Iterable[str]], list[_Line]]]:
    """Where functions are, by their ids, and where they are called, else where they are."""
    frames = {frame.id: frame for frame in report.frames}

    def functions(names: Iterable[str]) -> list[_Line]:
        found = (frames[name] for name in names if name in frames)
        return [_Line(frame.file, frame.line, None) for frame in found]

    def calls(names: Iterable[str]) -> list[_Line]:
        sites = (site for name in names if name in frames for site in frames[name].call_sites)
        return [_Line(site.file, site.line, site.code) for site in sites] or functions(names)

    return {"functions_of": functions, "calls_of": calls}


def _pictures(
    rows: Sequence[CompileRow], groups: Sequence[CompileGroup], tight: int
) -> dict[str, Any]:
    return {
        "timelines": timelines(rows, MAX_BARS // tight),
        "icicle": icicle(groups, NARROW * tight),
        "legend": charts.legend(rows),
        "compiles": over_functions(groups),
        "all_compiles": len(rows),
        "ranked": any(row.ranks for row in rows),
        "date": _date([row.start for row in rows if row.start is not None]),
    }


def _record(report: Report, tables: Tables) -> dict[str, Any]:
    data, whole = _download(report)
    measured = report.measured
    return {
        "settings": settings(tables),
        "inductor": bool((tables.compiles["inductor_seconds"] > 0).any()),
        "processes": processes(report),
        "json": data,
        "json_whole": whole,
        "terms": TERMS,
        "rules": RULES,
        "version": metadata.version("pgo-advisor"),
        "measured_rows": table(measured) if measured else [],
        "measured_sentences": list(sentences(measured))[1:] if measured else [],
    }


def _calls(report: Report) -> dict[str, Any]:
    return {
        "all_uncompiled": calls.all_uncompiled(report.calls),
        "uncompiled": calls.uncompiled,
        "pays": calls.pays,
        "brief": calls.brief,
        "worthwhile": calls.worthwhile,
        "padded_to": calls.padded_to,
    }


def _date(starts: Sequence[float]) -> str:
    if not starts or not 0 <= min(starts) < 1e11:
        return ""
    return datetime.fromtimestamp(min(starts), timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _download(report: Report) -> tuple[str, bool]:
    """The report's JSON as base64 of gzip, and whether all recompiles are in it: of many the longest."""
    longest = sorted(report.recompiles, key=lambda recompile: -recompile.seconds)
    others = len(report.frames) + len(report.advice) + len(report.findings)
    for most in (2_000, 100):
        whole = len(longest) <= most
        if others + min(most, len(longest)) > _MAX_ITEMS:
            continue
        kept = report if whole else replace(report, recompiles=tuple(longest[:most]))
        data = gzip.compress(render_json(kept).encode(errors="replace"), 6, mtime=0)
        if len(data) <= _MAX_JSON:
            return base64.b64encode(data).decode(), whole
    return "", False


def _links(
    reports: Iterable[tuple[PurePath, Path]], directory: Path | None
) -> list[tuple[str, str]]:
    return [
        (log.name, quote(Path(os.path.relpath(page, directory)).as_posix()))
        for log, page in reports
    ]
