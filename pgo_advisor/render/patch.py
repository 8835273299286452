"""What a patch did at each call site, or why not, for a terminal; and its diffs, highlighted, for a page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from urllib.parse import quote

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import DiffLexer

from pgo_advisor.patch.result import Patch, Site, SiteOutcome
from pgo_advisor.render.markdown_text import code, fenced
from pgo_advisor.render.templates import environment
from pgo_advisor.render.text import count, one_line, visible


def render_sites(patch: Patch) -> str:
    """A paragraph for each call site, the marked ones first, and what only the list can do."""
    return "".join(f"{line}\n" for line in _lines(patch))


def _lines(patch: Patch) -> Iterator[str]:
    for outcome in SiteOutcome:
        for site in patch.sites:
            if site.outcome is outcome:
                yield from _site(site)
    for advice in patch.unmarkable:
        place = advice.pair.words
        entry = f"; list entry {advice.list_entry}" if advice.list_entry else ""
        yield one_line(f"not to be marked: {place}: {advice.why_remedy}{entry}", 600)
    marked = sum(site.outcome is SiteOutcome.marked for site in patch.sites)
    yield (
        f"{count(marked, 'call site')} marked in {count(len(patch.files), 'file')}, "
        f"{sum(site.outcome is SiteOutcome.present for site in patch.sites)} marked already, "
        f"{sum(site.outcome is SiteOutcome.refused for site in patch.sites)} not marked"
    )
    yield from (one_line(f"note: {note}", 600) for note in patch.notes)


def _site(site: Site) -> Iterator[str]:
    yield one_line(f"{site.outcome.value}: {where(site)} calls {site.frame}", 400)
    if site.in_source:
        yield "    (found in the source, not in the trace)"
    if site.code:
        yield f"    {one_line(site.code, 200)}"
    for statement in site.statements:
        yield f"    + {one_line(statement, 300)}"
    for reason in site.reasons:
        yield (
            f"    because {one_line(reason, 400)}"
            if not site.statements
            else (f"    not marked: {one_line(reason, 400)}")
        )


def where(site: Site) -> str:
    """The statement's file and line now; as recorded where it was not found."""
    path = site.path if site.found_line else site.file
    return f"{path}:{site.found_line or site.line}"


def link_to(site: Site, patch: Patch, repo_url: str | None) -> str | None:
    """The statement's address in a repository whose files are at `repo_url`, as `https://…/blob/main`."""
    if not repo_url or not repo_url.startswith(("https://", "http://")) or site.path is None:
        return None
    if not site.found_line or not site.path.is_relative_to(patch.root):
        return None
    name = site.path.relative_to(patch.root).as_posix()
    return f"{repo_url.rstrip('/')}/{quote(name)}#L{site.found_line}"


def html_section(patch: Patch, repo_url: str | None = None) -> Markup:
    """The call sites with their diffs, for a page that has `templates/patch.css`."""
    section = environment().get_template("patch.html.j2").module.patch_section  # type: ignore[attr-defined]
    return Markup(  # noqa: S704
        section(
            patch, lambda site: link_to(site, patch, repo_url), lambda site: highlighted(site.diff)
        )
    )


def markdown_section(patch: Patch, repo_url: str | None = None) -> str:
    """The same for a comment."""
    parts = []
    for site in patch.sites:
        if site.outcome is SiteOutcome.marked and site.path is not None:
            place = code(f"{site.path.name}:{site.found_line}", 120)
            link = link_to(site, patch, repo_url)
            parts.append(f"[{place}]({link})\n\n" if link else f"{place}\n\n")
            parts.append(f"{fenced(site.diff.rstrip(), 'diff')}\n")
    return "".join(parts)


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True, classprefix="hl-")


def highlighted(diff: str) -> Markup:
    """The diff as HTML, escaped, with a class for each kind of line: hl-gi, hl-gd, hl-gu, hl-gh."""
    return Markup(highlight(visible(diff), DiffLexer(stripnl=False), _formatter()))  # noqa: S704
