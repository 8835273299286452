"""An analysis in which every recorded text is hostile, and there are many of each thing."""

from __future__ import annotations

from msgspec.structs import replace

from pgo_advisor.analysis import Analysis
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Input, Range, UserLine, Verdict
from pgo_advisor.report.measured import FrameMeasured, Measured, Outcome, Side, Spread, Way
from pgo_advisor.tables import Tables

TEXTS = [
    "<script>alert(1)</script>",
    "</style></title></pre><img src=x onerror=alert(1)>",
    "\" onmouseover=alert(1) x='",
    "\u202egnp.exe\u2066",
    "\x1b[31mred\x07\x00",
    "\ud800",
    "x" * 100_000,
    "@octocat fixes #1 GH-1 octo/repo#2 https://example.com www.example.com a@example.com",
    "`` ` ```` ```\n````\n~~~\n",
    "| a \\| b |\n|---|---|\n# heading\n1. item\n> quote",
    "--> ]]> <!-- <details open> &lt;b&gt; &#64;octocat",
    "![i](//example.com/x.png) [a](javascript:alert(1)) <https://example.com> *a* _b_ **c** ~~d~~",
    "\u05e9\u05dc\u05d5\u05dd \u0627\u0644",
    "{{ 7 * 7 }} {% raw %} $`x$` $$y$$ :smile:",
]


def measured(texts: list[str]) -> Measured:
    spread = Spread((1.0, 2.0))
    side = Side((2, 3), spread, spread, spread, (0, 0))
    return Measured(
        outcome=Outcome.broke,
        why="it breaks the program: exit code 0 without it, exit code 1 with it",
        notes=tuple(texts),
        way=Way.mark,
        dynamic_sources=texts[0],
        marks=tuple(texts),
        diff="".join(f"+{text}\n" for text in texts),
        files=tuple(texts),
        predicted=Range(1, None),
        before=side,
        after=side,
        frames=tuple(FrameMeasured(t, t, 1, None, (1, 1), (0, 1), spread, spread) for t in texts),
        unforeseen=tuple(texts),
        broken_by=tuple(texts),
        useless=tuple(texts),
        smallest=" and ".join(texts),
        runs=4,
        machine=texts[0],
        torch_version=texts[0],
        when="2026-01-02T03:04:05+00:00",
    )


def hostile(analysis: Analysis, number: int) -> Analysis:
    """`number` functions, compiles, inputs and findings made of the first ones of a real analysis."""
    frame, recompile = analysis.frames[0], analysis.recompiles[0]
    advice, finding = analysis.advice[0], analysis.findings[0]
    row = analysis.tables.compiles.iloc[0].to_dict()
    texts = [TEXTS[index % len(TEXTS)] for index in range(number)]
    ids = [f"{text}{index}" for index, text in enumerate(texts)]
    kinds, verdicts = list(CauseKind), list(Verdict)
    return replace(
        analysis,
        measured=measured(texts),
        losses=tuple(TEXTS),
        notes=tuple(TEXTS),
        tables=Tables.from_rows(
            {
                "compiles": [
                    {**row, "compile": index, "compile_id": text, "name": text, "file": text}
                    for index, text in enumerate(texts)
                ]
            }
        ),
        frames=tuple(
            replace(
                frame,
                id=ids[index],
                name=text,
                file=f"{text}/{text}",
                why=text,
                unsure=(text,),
                verdict=verdicts[index % 3],
            )
            for index, text in enumerate(texts)
        ),
        recompiles=tuple(
            replace(
                recompile,
                compile=index,
                compile_id=text,
                frame=ids[index],
                seconds=index / 100,
                causes=tuple(
                    replace(
                        cause,
                        kind=kinds[index % len(kinds)],
                        source=text,
                        expected=text,
                        actual=text,
                        text=text,
                    )
                    for cause in recompile.causes
                ),
            )
            for index, text in enumerate(texts)
            if index % 4
        ),
        advice=tuple(
            replace(
                advice,
                frame=ids[index],
                frames=(ids[index],),
                source=text,
                code="torch._dynamo.mark_dynamic(x, 0)" if index % 2 else None,
                why_remedy=text,
                list_entry=text,
                values=(2, 3, 4096, text[:100]),
                together=(Input(text, 0),),
                evidence=(text,),
                costs=(text,),
                also_touches=(text,),
            )
            for index, text in enumerate(texts)
        ),
        findings=tuple(
            replace(
                finding,
                summary=text,
                fix=text[:500],
                frames=(text,),
                evidence=(text,),
                lines=(UserLine(text, 1, text),),
            )
            for text in texts
        ),
    )
