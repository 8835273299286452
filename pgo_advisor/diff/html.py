"""A difference as one self-contained page, in the report's style."""

from __future__ import annotations

from importlib import metadata

from pgo_advisor.diff.changes import Difference
from pgo_advisor.diff.text import compiles, headline, phrase, releases, seconds
from pgo_advisor.render.templates import environment, inlined, policy_hash

_MOST = 200


def render_html(told: Difference) -> str:
    """The page loads nothing and runs no script."""
    style = inlined("report.css")
    return (
        environment()
        .get_template("diff.html.j2")
        .render(
            told=told,
            functions=told.functions[:_MOST],
            headline=headline(told),
            releases=releases(told),
            seconds=seconds(told),
            compiles=compiles,
            phrase=phrase,
            style=style,
            policy=(
                f"default-src 'none'; style-src '{policy_hash(style)}'; base-uri 'none'; "
                "form-action 'none'"
            ),
            version=metadata.version("pgo-advisor"),
        )
    )
