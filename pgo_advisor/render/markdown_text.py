"""Recorded text in GitHub's Markdown: it can become neither markup nor HTML, a link or a mention.

GitHub looks for `@name`, `#1` and addresses in the text as rendered, so that neither backslashes nor
entities stop it; what it leaves alone is code. So every word that is not plainly a word becomes code.
"""

from __future__ import annotations

import re
from itertools import groupby

from pgo_advisor.render.text import one_line, visible

_PLAIN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|\d{1,6}(?:\.\d{1,6})?|[→…]|")
_PUNCTUATION = ",.;:?!"
_OPERATOR = re.compile(r"[<>=!]+")
_RUN = re.compile(r"`+")
_PIPE = "&#124;"


def code(text: str, most: int = 160) -> str:
    """Code spans of one line; a text longer than `most` is cut in its middle.

    A pipe ends a table's cell even in code, so it stands between two spans as an entity.
    """
    return _spans(one_line(text, most))


def _spans(line: str) -> str:
    return _PIPE.join(map(_span, line.split("|")))


def _span(text: str) -> str:
    if not text.strip():
        return text
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def prose(text: str, most: int = 400) -> str:
    """A sentence with recorded names in it: plain words stay, runs of all others become code."""
    words = one_line(text, most).split(" ")
    plain = [_is_plain(word) for word in words]
    for index, word in enumerate(words):
        beside = words[max(index - 1, 0) : index + 2]
        # "1." begins a list, and "x <= 512" is better as one span
        if word[:1].isdigit() and (index == 0 or any(map(_OPERATOR.fullmatch, beside))):
            plain[index] = False
    runs = groupby(zip(plain, words, strict=True), key=lambda pair: pair[0])
    return " ".join(
        _sentence(" ".join(word for _, word in run), is_plain=is_plain) for is_plain, run in runs
    )


def _is_plain(word: str) -> bool:
    word = word.removeprefix("(").rstrip(_PUNCTUATION).removesuffix(")").rstrip(_PUNCTUATION)
    return _PLAIN.fullmatch(word) is not None


def _sentence(run: str, *, is_plain: bool) -> str:
    """Words of one kind; the sentence's own punctuation around code stays outside of it."""
    if is_plain:
        return run
    start, end = 0, len(run.rstrip(",.;:"))
    open_brackets = run.count("(") - run.count(")")
    if open_brackets > 0 and run[0] == "(":
        start = 1
    elif open_brackets < 0 and run[:end].endswith(")"):
        end -= 1
    return run[:start] + _spans(run[start:end]) + run[end:]


def fenced(text: str, language: str) -> str:
    """A block of code that nothing in the text can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{visible(text).rstrip()}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, _RUN.findall(text)), default=0)
