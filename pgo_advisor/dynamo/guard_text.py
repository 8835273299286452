"""Reading the text of a guard: where its comment begins, and which sources it names.

Names and keys may hold anything, brackets, quotes, `#` and ` and ` too, so they are read by
counting brackets and quotes. Since 2.7 the text has `x` for `L['x']` (`strip_local_scope` in
torch/_dynamo/guards.py); here they get their canonical form back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


def _unquoted(parts: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """The parts that stand outside of string literals. `parts` has to match quotes and escapes."""
    quote = None
    for part in parts.finditer(text, start):
        if part[0] in ("'", '"'):
            if quote is None:
                quote = part[0]
            elif quote == part[0]:
                quote = None
        elif quote is None and part[0][0] != "\\":
            yield part


_QUOTES_AND_COMMENT = re.compile(r"\\.|['\"]|  # | \(HINT: ", re.DOTALL)


def split_comment(body: str) -> tuple[str, str]:
    """The guard and its comment. A key or value in the guard may itself hold a `#`."""
    for mark in _unquoted(_QUOTES_AND_COMMENT, body):
        return body[: mark.start()].rstrip(), body[mark.start() :]
    guard, separator, comment = body.partition("  # ")  # a repr of the user's own with a lone quote
    return guard.rstrip(), separator + comment


_LOCATION = re.compile(r"  # ([^\n]{1,300}?):(\d+) in (\S+)")


def origin(comment: str) -> tuple[str | None, str | None]:
    """The user's line and where it stands (`format_frame` in torch/utils/_traceback.py).

    A bound has two such parts, `LINE  # FILE:4 in f (explanation) and LINE  # …`, of which the last
    is code that restricted the size: the first may be its first use, as its explanation says.
    """
    start, found = 0, None
    for location in _LOCATION.finditer(comment):
        if not location[1].startswith("("):
            start, found = found.end() if found else 0, location
    if found is None:
        return None, None
    if start and (joint := comment.find(") and ", start, found.start())) >= 0:
        start = joint + len(") and ")
    line, _, file = comment[start : found.end(1)].rpartition("  # ")
    line = line.removeprefix("  # ").strip()
    if not line and file.startswith("_dynamo/"):
        return None, None
    return line or None, f"{file}:{found[2]} in {found[3]}"


class Unbalanced(ValueError):
    """A bracket or quote that nothing closes."""


SOURCE_FUNCTION = re.compile(
    r"(?:(?:___\w+|type|int|list|dict|getattr|cast_symbool_to_symint_guardless|__import__"
    r"|object\.__getattribute__|(?:dict|list|tuple)\.(?:keys|__\w+__)))(?=\()"
)
_LOCAL = re.compile(r"[^\W\d]\w*|\.\d+")
_TRAILER = re.compile(r"\.[^\W\d]\w*")
_ARGUMENT_PARTS = re.compile(r"\\.|['\"]|[\[\](){}]|, ", re.DOTALL)
_BRACKETS = re.compile(r"\\.|['\"]|[\[\](){}]", re.DOTALL)


def closing(text: str, opening: int) -> int:
    """Where the bracket that closes the one at `opening` ends."""
    depth = 0
    for bracket in _unquoted(_BRACKETS, text, opening):
        depth += 1 if bracket[0] in "[({" else -1
        if depth == 0:
            return bracket.end()
    raise Unbalanced


def read_source(text: str, start: int = 0, depth: int = 0) -> tuple[str, int] | None:
    """The source name at a position, in canonical form, and where it ends. Raises `Unbalanced`."""
    if function := SOURCE_FUNCTION.match(text, start):
        end = closing(text, function.end())
        canonical = f"{function[0]}({_arguments(text[function.end() + 1 : end - 1], depth)})"
    elif text.startswith(("L[", "G[", "SYNTHETIC_LOCAL["), start):
        end = closing(text, text.index("[", start))
        canonical = text[start:end]
    elif local := _LOCAL.match(text, start):
        end = local.end()
        canonical = f"L[{local[0]!r}]"
    else:
        return None
    while end < len(text):
        if attribute := _TRAILER.match(text, end):
            canonical, end = canonical + attribute[0], attribute.end()
        elif text[end] in "[(":
            begin, end = end, closing(text, end)
            canonical += text[begin] + _arguments(text[begin + 1 : end - 1], depth, text[begin])
            canonical += text[end - 1]
        else:
            break
    return canonical, end


def _arguments(text: str, depth: int, opening: str = "(") -> str:
    """What stands between brackets: sources in canonical form, keys and numbers as they are."""
    is_source = opening == "(" or text.startswith("list(dict.keys(")
    first = read_source(text, 0, depth + 1) if is_source and depth < 20 else None
    if first is None:
        return text
    rest = text[first[1] :]
    if rest.startswith(", list(dict.keys("):
        rest = ", " + _arguments(rest[2:], depth + 1)
    return first[0] + rest


def whole_source(text: str) -> str | None:
    """The canonical name of a text that is a source name and nothing else."""
    found = read_source(text)
    return found[0] if found and found[1] == len(text) else None


def split_arguments(text: str) -> tuple[str, str]:
    """A call's arguments but the last, and the last; a key may itself hold commas."""
    comma, depth = -1, 0
    for part in _unquoted(_ARGUMENT_PARTS, text):
        if part[0] != ", ":
            depth += 1 if part[0] in "[({" else -1
        elif depth == 0:
            comma = part.start()
    return (text[:comma], text[comma + 2 :]) if comma >= 0 else ("", text)
