"""Violations as lines for a terminal and as annotations for GitHub's log."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.check.violations import Checked, Violation
from pgo_advisor.compare.places import Checkout
from pgo_advisor.render.text import count, one_line

ANNOTATIONS = 10
"""GitHub shows ten of a kind for a step."""


def render_text(checked: Checked, checkout: Checkout) -> str:
    """As ruff has it: `file:line: CODE message`, the line, and what helps; then how many there are."""
    return "".join(f"{line}\n" for line in _lines(checked, checkout))


def _lines(checked: Checked, checkout: Checkout) -> Iterator[str]:
    for item in checked.violations:
        yield from explained(item, checkout)
    yield summary(checked)


def explained(item: Violation, checkout: Checkout) -> Iterator[str]:
    """A violation in lines: what and where, the line, and what helps."""
    place = ""
    if item.place:
        place = f"{one_line(checkout.shown(item.place.file), 300)}:{item.place.line}: "
    yield f"{place}{item.rule} {one_line(item.message, 600)}"
    if item.place and item.place.code:
        yield f"    {item.place.line} | {one_line(item.place.code, 300)}"
    if item.cure:
        yield f"    help: {one_line(item.cure, 900)}"


def summary(checked: Checked) -> str:
    """How many there are, and what held."""
    held = f" Within its budget: {', '.join(checked.held)}." if checked.held else ""
    if checked.violations:
        return f"Found {count(len(checked.violations), 'problem')}.{held}"
    return f"All checks passed.{held}"


def render_github(checked: Checked, checkout: Checkout) -> str:
    """Workflow commands: the most expensive ten become annotations at their lines.

    The format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions, escaped as
    actions/toolkit does it (packages/core/src/command.ts).
    """
    shown = [_annotation(item, checkout) for item in checked.violations[:ANNOTATIONS]]
    return "".join(f"{line}\n" for line in (*shown, summary(checked)))


def _annotation(item: Violation, checkout: Checkout) -> str:
    properties = {"title": f"{item.rule} (pgo-advisor)"}
    if item.place:
        properties["file"] = one_line(checkout.shown(item.place.file), 300)
        properties["line"] = str(item.place.line)
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = one_line(item.message, 600) + (f"\n{one_line(item.cure, 900)}" if item.cure else "")
    return f"::error {told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
