"""The report as a comment on a pull request, in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pgo_advisor.render.answer import answer, severe, sure
from pgo_advisor.render.env import export, unbacked_option
from pgo_advisor.render.groups import Alike, alike, processes
from pgo_advisor.render.markdown_text import code, fenced, prose
from pgo_advisor.render.measured import TOTALS, caution, sentences, table
from pgo_advisor.render.snippet import render_snippet
from pgo_advisor.render.text import count, duration, kind_in_words
from pgo_advisor.report import (
    Advice,
    Cause,
    Finding,
    FrameReport,
    Input,
    Recompile,
    Report,
    UserLine,
    Verdict,
)
from pgo_advisor.report.base import listed
from pgo_advisor.report.measured import Measured

if TYPE_CHECKING:
    from pgo_advisor.patch import Patch

LIMIT = 65_536
"""GitHub's limit for a comment, in characters; counted here as UTF-16 does, which is never less."""
MARKER = "<!-- pgo-advisor -->"
# In characters, in all less than LIMIT:
_MAX_ADVICE = 40_000
_MAX_FRAMES = 10_000
_MAX_REMARKS = 6_000
_MAX_LINES = 30


class _Folded(NamedTuple):
    """Details behind a summary: as many of the items are shown as there is room for."""

    summary: str
    head: str
    items: list[str]
    is_open: bool = False


def render_markdown(
    report: Report, *, patch: Patch | None = None, repo_url: str | None = None
) -> str:
    """A comment of at most LIMIT characters: the details are shortened, the advice is not.

    Its first line is a marker by which the comment is found again, to be replaced. A `patch` that
    changes something takes the snippet's place, see `render_html`.
    """
    patched = ""
    if patch:
        from pgo_advisor.render.patch import markdown_section

        patched = markdown_section(patch, repo_url)
    text = _answer(report, patched, snippet=not (patch and patch.diff))
    sections = list(_details(report))
    for number, folded in enumerate(sections):
        text += _fitted(folded, (LIMIT - _length(text)) // (len(sections) - number))
    return text


def _answer(report: Report, patched: str, *, snippet: bool) -> str:
    """What is not folded, at most _MAX_LINES lines: what goes beyond that is folded, the code first."""
    head = f"{MARKER}\n{_headline(report)}\n\n"
    if report.measured:
        head += "".join(_measured(report.measured))
    list_, code = _advice(report, patched, snippet=snippet)
    warning = caution(report) if list_ + code else ""
    parts = {
        "Notes": "".join(_remarks(report)),
        "": (f"**{warning}:**\n\n" if warning else "") + (list_ and f"{list_}\n"),
        "Functions": "".join(_frames(report.frames)),
        "For the code": code and f"{code}\n",
    }
    folded: list[str] = []
    for summary in ("For the code", "Functions", "Notes"):
        seen = [text for name, text in parts.items() if name not in folded]
        if "".join([head, *seen]).count("\n") > _MAX_LINES:
            folded.append(summary)
    return head + "".join(
        f"<details>\n<summary>{name}</summary>\n\n{text}</details>\n\n"
        if text and name in folded
        else text
        for name, text in parts.items()
    )


def _headline(report: Report) -> str:
    headline, sentence = answer(report)
    severities = "".join(f"**Worse:** {prose(text)}\n\n" for text in severe(report))
    told = " ".join(filter(None, (sentence, sure(report))))
    return f"{severities}**{headline}.** {told}"


def _remarks(report: Report) -> Iterator[str]:
    remarks = [f"- **Lost:** {prose(loss)}\n" for loss in report.losses]
    remarks += [f"- **Note:** {prose(note)}\n" for note in report.notes]
    shown = _as_fit(remarks, _MAX_REMARKS)
    yield from shown
    if len(remarks) > len(shown):
        yield f"- and {len(remarks) - len(shown)} more\n"
    if remarks:
        yield "\n"


def _advice(report: Report, patched: str, *, snippet: bool) -> tuple[str, str]:
    """The list, and what goes into the code; if they are too long, what prints them."""
    list_ = fenced(export(report), "sh") if report.dynamic_sources else ""
    code = patched
    if snippet and any(advice.code for advice in report.advice):
        code += fenced(render_snippet(report), "python")
    if _length(list_) > _MAX_ADVICE:
        list_ = "Too long for a comment: `pgo-advisor env` prints the list.\n"
    if _length(list_ + code) > _MAX_ADVICE:
        command = "patch` prints the changes" if patched else "snippet` prints the statements"
        code = f"Too long for a comment: `pgo-advisor {command}.\n"
    return list_, code


def _measured(measured: Measured) -> Iterator[str]:
    """A table of the whole program, and below it what else was found."""
    yield f"| measured | predicted | without | with {measured.way.what} |\n|---|--:|--:|--:|\n"
    for row in table(measured)[:TOTALS]:
        yield f"| {row.what} | {row.predicted} | {row.before} | {row.after} |\n"
    yield "\n"
    # the first is the answer's
    shown = _as_fit([f"- {prose(text)}\n" for text in list(sentences(measured))[1:]], _MAX_REMARKS)
    yield from shown
    yield "\n"


def _frames(frames: tuple[FrameReport, ...]) -> Iterator[str]:
    """A table of what was compiled again."""
    again = [frame for frame in frames if frame.verdict is not Verdict.nothing_to_do]
    if not again:
        return
    yield "| function | compiles | compiling | saved | verdict |\n|---|--:|--:|--:|---|\n"
    shown = _as_fit(map(_frame, again), _MAX_FRAMES)
    yield from shown
    yield "\n"
    if rest := len(frames) - len(shown):
        yield f"{count(rest, 'other function')} not shown: cheaper, or compiled only once.\n\n"


def _frame(frame: FrameReport) -> str:
    helps = frame.verdict is Verdict.marking_helps
    compiles = f"{frame.compiles} → {frame.predicted}" if helps else str(frame.compiles)
    saved = duration(frame.saved_seconds) if frame.saved_seconds else ""
    verdict = frame.verdict.words + ("" if helps else f": {prose(frame.why, 160)}")
    return (
        f"| {_function(frame)} | {compiles} | {duration(frame.seconds)} | {saved} | {verdict} |\n"
    )


def _function(frame: FrameReport) -> str:
    file = frame.file.replace("\\", "/").rpartition("/")[2]
    return f"{code(frame.id, 60)} {code(f'{file}:{frame.line}', 60)}"


def _details(report: Report) -> Iterator[_Folded]:
    if report.uncured:
        yield _Folded(
            f"Needs a change of code ({len(report.uncured)})",
            "",
            [_finding(found) for found in report.uncured],
            is_open=not report.advice,
        )
    if report.advice:
        why = [_inputs(group) for group in alike(report.advice)]
        yield _Folded(f"Why these inputs ({report.inputs})", "", why)
    if unsure := list(_unsure(report)):
        yield _Folded("How sure the prediction is", "", unsure)
    yield from _unbacked(report)
    if lines := processes(report):
        yield _Folded("Processes", "", [f"- {prose(line, 300)}\n" for line in lines])
    if report.recompiles:
        yield _recompiles(report.shown_recompiles)


def _unsure(report: Report) -> Iterator[str]:
    for frame in report.frames:
        for reason in frame.unsure:
            yield f"- {code(frame.id, 80)}: not exact: {prose(reason)}\n"


def _unbacked(report: Report) -> Iterator[_Folded]:
    if option := unbacked_option(report):
        more = count(report.unbacked_saves, "more compile")
        yield _Folded(
            "Option: unbacked sizes",
            "Sizes 0 and 1 keep graphs of their own. This instead of the list above may save up to "
            f"{more}. That is not predicted: where code asks for such a size it can fail, or cost "
            "compiles.\n\n",
            [fenced(option, "sh")],
        )


def _finding(found: Finding) -> str:
    cost = f" ({count(found.compiles, 'recompile')}" if found.compiles else ""
    if cost:
        cost += f", {duration(found.seconds)})" if found.seconds else ")"
    lines = "".join(f"  - {_line(line)}\n" for line in found.lines[:4])
    evidence = "".join(f"  - {code(text, 240)}\n" for text in found.evidence[:3])
    return f"- {prose(found.summary)}{cost}\n  {prose(found.fix, 0)}\n{lines}{evidence}"


def _line(line: UserLine) -> str:
    return code(line.place, 200) + (f": {code(line.code, 200)}" if line.code else "")


def _inputs(group: Alike) -> str:
    first = group.items[0]
    named = listed([_input(item) for item in group.items], 6, " and {} more")
    functions = ", ".join(code(frame, 80) for frame in first.frames[:4])
    lines = [f"- {named} in {functions}{_seen(first)}"]
    lines += dict.fromkeys(f"  - {_how(item)}" for item in group.items[:6])
    if group.together:
        others = ", ".join(map(_input, group.together[:6]))
        lines.append(f"  - equal to {others} by the code: declare all, or none")
    lines += [f"  - {prose(text)}" for text in group.costs]
    if group.also_touches:
        touched = ", ".join(code(frame, 80) for frame in group.also_touches[:6])
        lines.append(f"  - also touches {touched}, where it does not help")
    lines += [f"  - {code(text, 240)}" for text in group.evidence[:3]]
    return "\n".join(lines) + "\n"


def _seen(item: Advice) -> str:
    values = [str(v) if isinstance(v, int) else code(v, 30) for v in item.values]
    return f": {listed(values, 16, ', …')}" if values else ""


def _how(item: Advice) -> str:
    worth = "" if item.saved is None else f"; {count(item.saved, 'compile')} lost without it"
    return f"{code(item.remedy.value)}, since {prose(item.why_remedy, 200)}{worth}"


def _input(item: Input | Cause) -> str:
    return code(item.source or "", 120) + ("" if item.dim is None else f" dim {item.dim}")


def _recompiles(recompiles: Sequence[tuple[str, Recompile]]) -> _Folded:
    ranked = any(ranks for ranks, _ in recompiles)
    rank = ("rank | ", "--:|") if ranked else ("", "")
    return _Folded(
        f"Recompiles ({len(recompiles)})",
        f"| id | {rank[0]}function | what changed | took | with the advice |\n"
        f"|---|{rank[1]}---|---|--:|---|\n",
        [
            _recompile(recompile, ranks if ranked else None)
            for ranks, recompile in sorted(recompiles, key=lambda found: -found[1].seconds)
        ],
    )


def _recompile(recompile: Recompile, ranks: str | None) -> str:
    changes = "; ".join(map(_change, recompile.causes[:4]))
    rank = "" if ranks is None else f"{ranks[:40]} | "
    return (
        f"| {code(recompile.compile_id, 40)} | {rank}{code(recompile.frame, 60)} "
        f"| {changes} | {duration(recompile.seconds)} "
        f"| {recompile.fate.words} |\n"
    )


def _change(cause: Cause) -> str:
    source = "" if cause.source is None else f" {_input(cause)}"
    what = f" {code(cause.change, 80)}" if cause.change else ""
    return f"{kind_in_words(cause.kind)}{source}{what}"


def _fitted(folded: _Folded, room: int) -> str:
    """The details with as many items as fit; nothing if not even the first does."""
    start = f"<details{' open' if folded.is_open else ''}>\n<summary>{folded.summary}</summary>\n\n"
    end = "\n</details>\n\n"
    more = "\nand {} more: see the HTML or JSON output\n"
    shown = _as_fit(folded.items, room - _length(start + folded.head + more + end) - 20)
    if not shown:
        return ""
    left = len(folded.items) - len(shown)
    rest = more.format(left) if left else ""
    return f"{start}{folded.head}{''.join(shown)}{rest}{end}"


def _as_fit(items: Iterable[str], room: int) -> list[str]:
    """The first items that are no longer than `room` in all."""
    shown: list[str] = []
    for item in items:
        room -= _length(item)
        if room < 0:
            break
        shown.append(item)
    return shown


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
