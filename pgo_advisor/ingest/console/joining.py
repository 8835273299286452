"""Lines that a terminal, a pager or a logging handler wrapped: put together again.

A line is continued only where PyTorch's message on it is unfinished, and only by what finishes it. Where
lines are seen to be cut at one width, one that has that width goes on, too. What `rich` prints in columns is
taken out of them first.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from pgo_advisor.ingest.console.prefixes import PREFIX, last_prefix

_NARROWEST = 40
_AHEAD = 4000
_MAX_PIECES = 64
_MAX_UNFINISHED = 12
"""Of lines that are shorter than the terminal, so many may come before one that finishes a message."""
_MAX_PARSED = 2000

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
    body = _message(text)
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
    if (comment and not _COMMENT.match(place)) or "# " in guard:
        return False
    return _NO_EXPRESSION.match(guard) is not None or _is_expression(_CLASS.sub("", guard))


_NO_EXPRESSION = re.compile(
    r"\A(?:User stack trace:|GLOBAL_STATE changed:(?: [\w()]{1,60}){1,20}"
    r"|'\w{1,200}' object has no attribute '\w{1,200}') {0,4}$"
)
_CLASS = re.compile(r", type=<class '[^']{1,1000}'> {0,80}$")


def _is_expression(text: str) -> bool:
    """Whether a text is Python that can be a guard."""
    if not text or len(text) > _MAX_PARSED:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return isinstance(tree.body, ast.Compare | ast.Call | ast.UnaryOp | ast.BoolOp)


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
    lines = iter(_out_of_columns(texts))
    ahead = deque(islice(lines, _AHEAD))
    width = _width(ahead)
    while ahead:
        text = ahead.popleft()
        if _may_go_on(text):
            text, taken = _finished(text, islice(ahead, _MAX_PIECES), width)
            for _ in range(taken):
                ahead.popleft()
        yield text
        ahead.extend(islice(lines, _AHEAD - len(ahead)))


def _finished(text: str, following: Iterable[str], width: int | None) -> tuple[str, int]:
    """The line with what it goes on with, and how many of the following lines that is."""
    finished, taken = text, 0
    begun, cut = text, len(text) == width
    for number, more in enumerate(following, 1):
        if _begins(begun, more) or not (cut or number - taken <= _most(text)):
            break
        ended = _whole(begun)
        if ended and not _goes_on(more, cut):
            break
        together = _together(begun, more, cut)
        found = next(filter(_whole, together), None)
        begun = found or together[-1]
        if found or (cut and not ended):
            finished, taken = begun, number
        cut = cut and len(more) == width
    return finished, taken


def _most(text: str) -> int:
    """How many lines may come before the one that finishes a message: on recompiles, or another one."""
    message = _message(text)
    return 2 if message and not BEGINNING.match(message) else _MAX_UNFINISHED


def _goes_on(more: str, cut: bool) -> bool:
    """Whether a line can go on with one that could be complete: to a comment, or with the end of a word."""
    if more.lstrip().startswith("# "):
        return True
    return cut and ("  # " in more or more.startswith(", type=") or not re.search(r"\s", more))


def _begins(begun: str, more: str) -> bool:
    """Whether a line begins a message of its own, and does not go on with one."""
    bare = more.lstrip()
    return PREFIX.match(bare) is not None or bool(BEGINNING.match(bare) and _message(begun))


def _message(text: str) -> str:
    prefix = last_prefix(text)
    return (text[prefix.end() :] if prefix else text).strip()


def _together(begun: str, more: str, cut: bool) -> list[str]:
    """Both lines as one, in the ways in which they can have been parted, the last if nothing speaks for one.

    `cut`: at the terminal's width. Else words were wrapped, or a line was broken by hand.
    """
    bare = more.strip()
    if bare.startswith("# "):  # two spaces come before a comment
        parted = [f"{begun.rstrip()}  {bare}"]
    else:
        parted = [_glued(begun, more), begun + bare, f"{begun} {bare}"]
    if not cut:
        return parted
    direct = begun + more
    if _BEFORE_SPACE.search(begun) or _AFTER_SPACE.match(more):
        return [parted[0], direct, parted[0]]
    return [direct, *parted, direct]


_BEFORE_SPACE = re.compile(r"(?: (?:[=!]=|[<>]=?|is|not|and|or)|  #)$")
_AFTER_SPACE = re.compile(r"(?:[=!]=|[<>]=?|is|not|and|or) ")


_CUT_PREFIX = re.compile(r"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,6} \d{1,20} ?[^\]\[]{0,400}$")


def _may_go_on(text: str) -> bool:
    if "torch" in text or "[" in text or "guard" in text or "unction" in text:
        return PREFIX.search(text) is not None or bool(
            BEGINNING.match(text.lstrip()) or _CUT_PREFIX.search(text)
        )
    return BEGINNING.match(text.lstrip()) is not None


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
