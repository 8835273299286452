"""Recorded text in GitHub's Markdown: it can become neither markup nor HTML, a link or a mention.

GitHub looks for `@name`, `#1` and addresses in the rendered text, so that neither backslashes nor entities
stop it; what it leaves alone is code. So every word that is not plainly a word becomes code.
"""

from __future__ import annotations

import re
from itertools import groupby

from pgo_advisor.render.text import one_line, visible

_PLAIN = re.compile(r"(?:[A-Za-z]+(?:['-][A-Za-z]+)*|\d{1,6}(?:\.\d{1,6})?|→|…|×)")
_WORD = re.compile(r"(\(?)(.*?)([,.;:?!]*\)?[,.;:?!]*)", re.DOTALL)
_RUN = re.compile(r"`+")


def code(text: str, most: int = 160) -> str:
    """A code span of one line; a longer text is cut in its middle."""
    line = one_line(text, most)
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def prose(text: str, most: int = 400) -> str:
    """A sentence with recorded names in it: plain words stay, everything else becomes code spans."""
    words = [_split(word) for word in one_line(text, most).split(" ")]
    if words and words[0][1][:1].isdigit():
        words[0] = (False, words[0][1])
    return " ".join(
        " ".join(word for _, word in run)
        if plain
        else _coded(" ".join(word for _, word in run), most=0)
        for plain, run in groupby(words, key=lambda word: word[0])
    )


def _split(word: str) -> tuple[bool, str]:
    match = _WORD.fullmatch(word)
    return bool(match and (not match[2] or _PLAIN.fullmatch(match[2]))), word


def _coded(words: str, most: int) -> str:
    """The words as code, without the punctuation of the sentence around them."""
    end = len(words.rstrip(",.;:"))
    return code(words[:end], most) + words[end:] if end else words


def cell(markdown: str) -> str:
    """What `code` or `prose` gave, for a table: no escape for `|` holds in all of them but this."""
    if "|" not in markdown:
        return markdown
    # A code span cannot hold an entity, so it ends before and goes on behind.
    return _in_spans(markdown)


def _in_spans(markdown: str) -> str:
    raise NotImplementedError


def fenced(text: str, language: str) -> str:
    """A fenced block that nothing in the text can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{visible(text).rstrip()}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)
