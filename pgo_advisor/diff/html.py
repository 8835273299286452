"""A difference as one self-contained page, in the report's style."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata

from pgo_advisor.diff.changes import Difference
from pgo_advisor.diff.text import compiles, headline, phrase, releases, seconds
from pgo_advisor.render.templates import environment, inlined

_MOST = 200


def render_html(told: Difference) -> str:
    """The page loads nothing and runs no script."""
    style = inlined("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
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
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            version=metadata.version("pgo-advisor"),
        )
    )
