"""Lines that a terminal, a pager or a logging handler wrapped: put together again.

A line is continued only where PyTorch's message on it is unfinished, and only by what finishes it. Where
lines are seen to be cut at one width, one that has that width goes on, too. What `rich` prints in columns is
taken out of them first.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from pgo_advisor.ingest.console.prefixes import PREFIX, last_prefix

_NARROWEST = 40
_AHEAD = 4000
_MOST_PARSED = 2000

BEGINNING = re.compile(
    r"(?:\('|\W{0,4})Recompiling function |torch\._dynamo hit config\.|triggered by the following "
    r"guard |guard \d{1,9} failures:|[-*+\u2022\u2013\u2014] ?(?:(?:!?\d{1,9}/)?\d{1,9}/\d{1,9}: |tensor ')"
    r"|function: '|(?:last )?reasons?: |User stack|Constraints violated |To (?:log|diagnose) "
)
"""How PyTorch's lines about recompiles begin, behind what others put before them."""

_REASON = re.compile(
    r"(?:[-*+\u2022\u2013\u2014] ?|(?:last )?reasons?: {0,4})"
    r"(?:(?:!?\d{1,9}/)?\d{1,9}/\d{1,9}(?:_\d{1,9})?: )?(.*)",
    re.DOTALL,
)
_WHOLE = re.compile(
    r"\A(?:\W{0,4}Recompiling function \S+ in .+:\d{1,7}|torch\._dynamo hit config\.\w+ \(\d+\)"
    r"|triggered by the following guard failures?\(s\):|guard \d+ failures:"
    r"|function: '.+' \(.+:\d{1,7}\))\W{0,3}$"
)
_SIDES = re.compile(r"\A[^,]{0,80}[Ee]xpected (?:requires_grad=\d|.+, actual \S)")
_PROPERTY = re.compile(r"' [\w ]{4,30}$")
_COMMENT = re.compile(r"\A.*\.\w{1,5}:\d{1,9} in \S")


def _whole(text: str) -> bool:
    """Whether a line's text is one of PyTorch's messages, and complete."""
    prefix = last_prefix(text)
    body = (text[prefix.end() :] if prefix else text).strip()
    if _WHOLE.match(body):
        return True
    reason = _REASON.match(body)
    return reason is not None and whole_guard(reason[1])


def whole_guard(text: str) -> bool:
    """Whether a failed guard, and the comment behind it, are complete."""
    if text.startswith("tensor '"):
        what, _, sides = text.rpartition(" mismatch")
        return _PROPERTY.search(what) is not None and _SIDES.match(sides) is not None
    guard, comment, place = text.partition("  # ")
    return (not comment or _COMMENT.match(place) is not None) and _is_expression(guard)


def _is_expression(text: str) -> bool:
    if not text or len(text) > _MOST_PARSED:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


_WORDS = frozenset(
    re.findall(
        r"\S+",
        """recompiling function in triggered by the following guard failures failure tensor size stride
        strides rank dtype mismatch at index expected actual torch._dynamo hit last reason reasons == !=
        <= >= < > is not and or none marked as dynamic but your code specialized it to be a constant""",
    )
)
_ID = re.compile(r"(?:\d{1,9}/)?\d{1,9}/\d{1,9}:|\[[\d/_]{1,40}\]|\[__\w{1,64}\]|-")


def _glued(first: str, second: str) -> str:
    """Two parts of a wrapped line: with a space between words, without one inside of a word."""
    if first[-1:].isspace() or second[:1].isspace():
        return first + second
    before, after = first.split()[-1:] or [""], second.split()[:1] or [""]
    left, right = before[0].lower(), after[0].lower()
    words = [word.strip(".,:()s'\"") in _WORDS or word in _WORDS for word in (left, right)]
    apart = (any(words) or _ID.fullmatch(left)) and left + right not in _WORDS
    return f"{first} {second}" if apart else first + second


def joined(texts: Iterable[str]) -> Iterator[str]:
    """The lines, those that were wrapped as one."""
    texts = iter(_out_of_columns(texts))
    ahead = list(islice(texts, _AHEAD))
    width = _width(ahead)
    pending: str | None = None
    cut = False
    for text in chain(ahead, texts):
        if pending is not None:
            whole = _continued(pending, text, cut)
            if whole is not None:
                pending, cut = whole, cut and len(text) == width
                continue
            yield pending
            pending = None
        if _may_go_on(text):
            pending, cut = text, len(text) == width
        else:
            yield text
    if pending is not None:
        yield pending


_CUT_PREFIX = re.compile(r"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} \d{1,20} ?[^\]\[]{0,400}$")


def _may_go_on(text: str) -> bool:
    if "torch" in text or "[" in text or "guard" in text or "unction" in text:
        return PREFIX.search(text) is not None or bool(
            BEGINNING.match(text.lstrip()) or _CUT_PREFIX.search(text)
        )
    return BEGINNING.match(text.lstrip()) is not None


def _continued(pending: str, text: str, cut: bool) -> str | None:
    """Both as one line, if the second goes on with the first; `cut`: that ends at the terminal's width."""
    if PREFIX.match(text.lstrip()):
        return None
    prefix = last_prefix(pending)
    begun = pending[prefix.end() :].strip() if prefix else pending.strip()
    if begun and BEGINNING.match(text.lstrip()):
        return None
    if _whole(pending):
        extended = pending + text
        return extended if cut and not re.search(r"\s", text) and _whole(extended) else None
    bare = text.strip()
    apart = [_glued(pending, text), f"{pending} {bare}"]
    together = [pending + text, *apart] if cut else [*apart, pending + bare]
    return next((line for line in together if _whole(line)), together[0] if cut else None)


def _width(texts: Iterable[str]) -> int | None:
    """The width at which lines were cut: several of PyTorch's have it, one is unfinished, none is longer."""
    longest = cut = unfinished = 0
    for text in texts:
        if len(text) >= max(longest, _NARROWEST) and _may_go_on(text):
            if len(text) > longest:
                longest, cut, unfinished = len(text), 0, 0
            cut += 1
            unfinished += not _whole(text)
    return longest if cut > 1 and unfinished else None


_RICH = re.compile(r"(?:\[[^\]]{1,40}\]| {8,40}) (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,4}(?=\S)")
_RICH_PLACE = re.compile(r"(?<! ) {1,200}[\w.-]{1,200}\.py:\d{1,7} {0,200}$")


def _out_of_columns(texts: Iterable[str]) -> Iterator[str]:
    """Without the columns of `rich.logging.RichHandler`: time, level, message, place in the code."""
    column = 0
    record: str | None = None
    for text in texts:
        if head := _RICH.match(text):
            if record is not None:
                yield record
            place = _RICH_PLACE.search(text)
            column, record = head.end(), text[head.end() : place.start() if place else None]
            if record.endswith(" in") and place:
                record += place[0].rstrip()
        elif record is None:
            yield text
        elif text[:column].strip() or len(text) <= column:
            yield record
            yield text
            record = None
        elif BEGINNING.match(text[column:].lstrip()) and not _whole(record + text[column:]):
            yield record
            record = text[column:].rstrip()
        else:
            record = _glued(record, text[column:].rstrip())
    if record is not None:
        yield record
