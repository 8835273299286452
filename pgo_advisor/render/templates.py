"""The jinja2 environment of the reports: everything escaped, recorded text made harmless."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pgo_advisor.render.charts import histogram, point, sizes
from pgo_advisor.render.text import count, duration, one_line, span, spent, visible

_LONGEST_TITLE = 1000


def template_directory() -> Path:
    """`pgo_advisor/templates` where a wheel was installed, else `templates` of the checkout."""
    package = Path(__file__).parents[1]
    packed = package / "templates"
    return packed if packed.is_dir() else package.parent / "templates"


@cache
def environment(tight: int = 1) -> Environment:
    """Recorded text can reach a page only through it, so that none is forgotten.

    `tight` divides how many of what is shown at most (`most(60)` in a template), and how long texts are.
    """
    env = Environment(
        loader=FileSystemLoader(template_directory()),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        lstrip_blocks=True,
    )
    env.filters.update(
        short=partial(short, tight=tight),
        short_text=lambda text, most: one_line(text, _shorter(most, tight)),
        path=partial(short_path, tight=tight),
        visible=visible,
        basename=os.path.basename,
        exactly=_exactly,
        duration=duration,
        span=span,
        point=point,
        bysize=_by_size,
        opening=opening,
    )
    env.globals.update(
        count=count,
        sizes=sizes,
        histogram=histogram,
        spent=spent,
        most=lambda number: max(1, number // tight),
    )
    return env


def inlined(name: str) -> Markup:
    """A style sheet or script of our own, to stand in the page as it is."""
    return Markup((template_directory() / name).read_text("utf-8"))  # noqa: S704


def policy_hash(text: str) -> str:
    """What the content policy of a page calls a style or a script that stands in it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _harmless(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _by_size(met: Mapping[int | str, int]) -> list[tuple[int | str, int]]:
    """Sizes with how many compiles met them, in the order of the sizes; others behind them."""
    return sorted(met.items(), key=lambda item: (isinstance(item[0], str), item[0], item[1]))


def _exactly(text: str) -> Markup:
    """Escaped, but with the characters that deceive, for what a script copies."""
    return Markup.escape(text.encode(errors="replace").decode())


def _shorter(most: int, tight: int) -> int:
    return max(min(most, 40), most // tight)


def opening(text: str, most: int = 140) -> str:
    """The first sentence, and as many more of them as stay within `most` characters."""
    first, *others = text.split(". ")
    for other in others:
        if len(first) + len(other) > most:
            break
        first += f". {other}"
    return first if first.endswith(".") else f"{first}."


def short(text: str, most: int = 160, tight: int = 1) -> Markup:
    """One line of at most about `most` characters; a longer text (to a bound) is shown on hovering."""
    most = _shorter(most, tight)
    line = one_line(text, most)
    if len(text) <= most:
        return Markup.escape(line)
    return _titled(line, text, tight)


def short_path(file: str, line: int | None = None, tight: int = 1) -> Markup:
    """`…/utils/generic.py:1112`: the last parts of a path, all of it on hovering."""
    where = file if line is None else f"{file}:{line}"
    parts = where.replace("\\", "/").split("/")
    if len(parts) <= 4 and len(where) <= 100:
        return Markup.escape(one_line(where))
    return _titled(one_line("…/" + "/".join(parts[-3:]), _shorter(100, tight)), where, tight)


def _titled(line: str, text: str, tight: int) -> Markup:
    return Markup('<span title="{}">{}</span>').format(
        visible(text, _shorter(_LONGEST_TITLE, tight)), line
    )
