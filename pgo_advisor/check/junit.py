"""Violations as JUnit's XML: a test for each, and one for each check that found nothing."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from pgo_advisor.check.violations import Checked, Violation
from pgo_advisor.compare.places import Checkout
from pgo_advisor.render.text import one_line


def render_junit(checked: Checked, checkout: Checkout) -> str:
    """The form that Jenkins, GitLab and Azure read: testsuites, testsuite, testcase, failure."""
    tests = len(checked.violations) + len(checked.held)
    count = f'tests="{tests}" failures="{len(checked.violations)}"'
    failed = "".join(_failure(item, checkout) for item in checked.violations)
    held = "".join(f'<testcase classname="pgo-advisor" name={_quoted(x)}/>\n' for x in checked.held)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites {count}>\n<testsuite name="pgo-advisor check" errors="0" {count}>\n'
        f"{failed}{held}</testsuite>\n</testsuites>\n"
    )


def _failure(item: Violation, checkout: Checkout) -> str:
    file = checkout.shown(item.place.file) if item.place else ""
    line = item.place.line if item.place else 0
    where = f" file={_quoted(file)} line={_quoted(str(line))}" if item.place else ""
    name = " ".join(filter(None, [item.rule, item.function, item.about]))
    told = [f"{file}:{line}"] if item.place else []
    if item.place and item.place.code:
        told.append(item.place.code)
    told += filter(None, [item.cure])
    text = escape("\n".join(one_line(part, 900) for part in told))
    return (
        f'<testcase classname="pgo-advisor" name={_quoted(name)}{where}>'
        f"<failure message={_quoted(item.message)}>{text}</failure></testcase>\n"
    )


def _quoted(text: str) -> str:
    return quoteattr(one_line(text, 600))
