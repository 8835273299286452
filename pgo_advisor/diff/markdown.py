"""A difference as a comment on a pull request, in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pgo_advisor.diff.changes import Change, Difference, FunctionChange
from pgo_advisor.diff.text import compiles, headline, phrase, releases, seconds
from pgo_advisor.render.markdown import LIMIT, MARKER
from pgo_advisor.render.markdown_text import code, prose
from pgo_advisor.render.text import count

SUMMARY_LIMIT = 1_000_000
"""Of a step's summary, a little less than GitHub's MiB: a character may take several bytes."""
_REST = "\nThe rest is too long for a comment; the step's summary and the HTML have it.\n"
_MAX_LOSSES = 10
_ROOM = 2_000
"""For what stands behind the changes."""


def render_markdown(told: Difference, limit: int = LIMIT) -> str:
    """The delta first, then the changed functions; the rest is folded.

    No longer than `limit` in bytes of UTF-8, which is never less than GitHub's characters. The first line is
    the marker by which the comment is found again.
    """
    text = f"{MARKER}\n**{headline(told)}**\n\n"
    for line in filter(None, [releases(told), seconds(told)]):
        text += f"{prose(line)}\n\n"
    text += "".join(f"**Lost:** {prose(loss)}\n\n" for loss in told.losses[:_MAX_LOSSES])
    shown, whole = _fitting(_parts(told), limit - len(text.encode()) - _ROOM)
    folded = ", ".join(code(name, 80) for name in told.unchanged[:15])
    if told.unchanged:
        more = f" and {len(told.unchanged) - 15} more" if len(told.unchanged) > 15 else ""
        summary = f"{count(len(told.unchanged), 'function')} as before"
        folded = f"\n<details>\n<summary>{summary}</summary>\n\n{folded}{more}\n\n</details>\n"
    return f"{text}{shown}{'' if whole else _REST}{folded}"


def _fitting(parts: Iterable[str], room: int) -> tuple[str, bool]:
    """The first parts that there is room for, and whether these are all."""
    shown = ""
    for part in parts:
        room -= len(part.encode())
        if room < 0:
            return shown, False
        shown += part
    return shown, True


def _parts(told: Difference) -> Iterator[str]:
    if told.functions:
        yield "| function | compiles |\n|---|---|\n"
    for change in told.functions:
        yield f"| {_name(change)} | {compiles(change)} |\n"
    for change in told.functions:
        if change.changes:
            yield f"\n**{_name(change)}**\n"
        yield from map(_change, change.changes)
        yield from (f"- new guard: {code(guard, 300)}\n" for guard in change.new_guards)
    for title, advice in (("New advice", told.new_advice), ("No longer needed", told.moot_advice)):
        if advice:
            yield f"\n**{title}**\n"
            yield from (f"- {prose(text)}\n" for text in advice)


def _name(change: FunctionChange) -> str:
    return f"{code(change.name, 80)} {code(f'{change.file}:{change.line}', 120)}"


def _change(item: Change) -> str:
    lines = f"- {prose(phrase(item))}\n"
    if item.now:
        at = f"{item.file}:{item.line}" + (f" {item.code}" if item.code else "")
        lines += f"  - {code(at, 300)}\n"
        if item.guard:
            lines += f"  - guard: {code(item.guard, 240)}\n"
        lines += f"  - {prose(item.cure, 600)} ({item.rule})\n"
    return lines
