"""Text out of what it is kept in: encodings, JSON, notebooks, HTML, Markdown.

What a file is, is found by what it holds: by a byte order mark or where its zero bytes stand, by its first
character, and of single lines, by whether a JSON object ends them. Everything streams but JSON documents and
HTML, which are read up to `MAX_DOCUMENT` characters.
"""

from __future__ import annotations

import codecs
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Any

MAX_DOCUMENT = 64 << 20
MAX_LINE = 1 << 17
_CHUNK = 1 << 20
_HEAD = 4096
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding(head: bytes) -> str | None:
    """The encoding of a text that begins so; None if it is no text.

    UTF-16 without a byte order mark is known by its zero bytes: of characters below U+0100 they all stand at
    even places, or all at odd ones. Single zero bytes elsewhere are what a crash leaves in a log.
    """
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    sample = head[:_HEAD]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    if odd * 2 > half and even * 20 < half:
        return "utf-16-le"
    if even * 2 > half and odd * 20 < half:
        return "utf-16-be"
    return "utf-8" if (even + odd) * 4 <= len(sample) else None


def pieces_of(path: Path) -> Iterator[str]:
    """The text of a file in pieces, of HTML what it shows; nothing if it is no text."""
    pieces = _decoded(path)
    first = next(pieces, "")
    pieces = chain([first], pieces)
    return _from_html(pieces) if is_html(first) else pieces


def is_html(text: str) -> bool:
    """Whether a text begins as a page does."""
    return _HTML.match(text[:_HEAD].lstrip()) is not None


def _decoded(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        head = file.read(_CHUNK)
        name = encoding(head)
        if name is None:
            return
        decoder = codecs.getincrementaldecoder(name)("replace")
        while head:
            yield decoder.decode(head).replace("\0", "")
            head = file.read(_CHUNK)
        yield decoder.decode(b"", final=True)


def text_lines(path: Path) -> Iterator[str]:
    """The lines of text in a file, without what it is kept in, also those that are not PyTorch's.

    A line of more than `MAX_LINE` characters is cut.
    """
    pieces = pieces_of(path)
    first = next(pieces, "")
    pieces = chain([first], pieces)
    if first[:_HEAD].lstrip().startswith(("{", "[")) and path.stat().st_size <= MAX_DOCUMENT:
        text = "".join(pieces)
        document = _json(text)
        pieces = (
            _oldest_first(text)
            if document is None
            else (f"{part}\n" for part in _strings(document))
        )
    for line in _whole_records(_lines(pieces)):
        yield from _unpacked(line)


def _oldest_first(text: str) -> Iterator[str]:
    """JSON lines in the order of their time: stores answer with the newest first."""
    lines = text.splitlines(keepends=True)
    records = [_json(line) for line in (lines[0], lines[-1])] if lines else []
    if records and _in_time(records) != records:
        lines = [line.rstrip("\r\n") + "\n" for line in reversed(lines)]
    return iter(lines)


_CRI = re.compile(r"\d{4}-\d\d-\d\dT\S{8,30} (?:stdout|stderr) ([PF]) ")
"""A line of a container's log (Kubernetes' CRI logging format): `P` is continued in the next, `F` ends."""
_DOCKER_PART = 1 << 14
"""Docker's json-file cuts a line into records of so many bytes."""


def _whole_records(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those that a container's runtime cut put together again."""
    rest = ""
    for line in lines:
        text, goes_on = _part(rest, line)
        rest = text if goes_on else ""
        if not goes_on:
            yield text[:MAX_LINE]
    if rest:
        yield rest[:MAX_LINE]


def _part(rest: str, line: str) -> tuple[str, bool]:
    """What came before with a line, and whether the next one goes on with it."""
    if record := _CRI.match(line):
        more = line[record.end() :] if len(rest) < MAX_LINE else ""
        return rest + more, record[1] == "P"
    if not (rest or len(line) > _DOCKER_PART):
        return line, False
    found = _json(line)
    text = found.get("log") if isinstance(found, dict) else None
    if not isinstance(text, str):
        return rest + line, False
    whole = len(text.encode("utf-8", "replace")) != _DOCKER_PART or text.endswith("\n")
    return rest + text.rstrip("\n") if len(rest) < MAX_LINE else rest, not whole


_NEWLINE = re.compile(r"\r\n?|[\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    """Lines, however they end. A carriage return alone ends one, too: a progress bar returns by it."""
    rest = ""
    for piece in pieces:
        held = "\r" if piece.endswith("\r") else ""  # its \n may be in the next piece
        *lines, last = _NEWLINE.split(piece.removesuffix("\r"))
        if lines:
            yield (rest + lines[0])[:MAX_LINE]
            for line in lines[1:]:
                yield line[:MAX_LINE]
            rest = ""
        rest = rest[:MAX_LINE] + last + held
        if rest.endswith("\r") and len(rest) > MAX_LINE:
            rest = rest[:MAX_LINE] + "\r"
    for line in _NEWLINE.split(rest):
        if line:
            yield line[:MAX_LINE]


_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|quot|apos|lt|gt|amp|nbsp);")
_TYPOGRAPHY: dict[int, str | None] = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " "),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff")),
}


def _unpacked(line: str) -> Iterator[str]:
    """The lines in a line: of the JSON object that it ends with, of a cell of a Markdown table, or itself."""
    start = line.find('{"')
    if start >= 0 and line.rstrip().endswith("}") and (found := _json(line[start:])):
        for text in _strings(found):
            yield from map(_plain, text.splitlines())
    elif "\\n" in line and _ESCAPED.search(line):
        yield from map(_plain, line.rstrip("\"')").replace("\\n", "\n").splitlines())
    else:
        yield _plain(line)


_ESCAPED = re.compile(r"\\n\s{2,8}(?:triggered by |- |function: ')")
"""As `repr` of an exception shows its lines."""


def _json(text: str) -> Any:
    """The value that a JSON text holds, whole numbers as floats; None if it is no such text."""
    try:
        return json.loads(text, strict=False, parse_int=float)
    except (ValueError, RecursionError):
        return None


def _plain(line: str) -> str:
    """Without Markdown's and HTML's escapes, and with plain quotes and spaces for a word processor's."""
    bare = line.strip()
    if len(bare) > 2 and bare[0] == bare[-1] == "|":
        line = bare[1:-1].strip().replace("\\|", "|")
    if "`" in line:
        line = line.replace("```", "")
        if line[:1] == line[-1:] == "`":
            line = line[1:-1]
    if "&" in line and _ENTITY.search(line):
        line = html.unescape(line)
    return line if line.isascii() else line.translate(_TYPOGRAPHY)


_TIMES = ("@timestamp", "timestamp", "time", "ts", "Timestamp", "__REALTIME_TIMESTAMP")


def _strings(found: Any) -> Iterator[str]:
    """The texts in a JSON value, in their order; of a notebook what its cells put out."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list):
        if found and all(isinstance(part, str) for part in found):
            # the lines of a notebook's output keep their ends; a pair of Loki is a time and a line
            joined = any(part.endswith("\n") for part in found[:-1])
            yield from ["".join(found)] if joined else found
        else:
            for part in _in_time(found):
                yield from _strings(part)
    elif isinstance(found, Mapping):
        yield from _of_object(found)


def _of_object(found: Mapping[str, Any]) -> Iterator[str]:
    if "cell_type" in found:
        found = {"outputs": found.get("outputs", ())}
    before = ""
    for value in found.values():
        for text in _strings(value):
            # loguru and others tell a message twice, bare and formatted
            if text.strip() not in before:
                yield text
                before = text


def _in_time(found: list[Any]) -> list[Any]:
    """Records in the order of their time: stores answer with the newest first."""
    ends = [_time(found[0]), _time(found[-1])] if found else []
    if len(ends) == 2 and None not in ends and type(ends[0]) is type(ends[1]):
        first, last = ends
        return found[::-1] if first > last else found
    return found


def _time(record: Any) -> Any:
    """When a record was made: a number or a text that orders like one; None if it does not say."""
    if isinstance(record, list) and record and isinstance(record[0], str) and record[0].isdigit():
        return record[0]
    if isinstance(record, Mapping):
        record = record.get("_source", record)
    if isinstance(record, Mapping):
        times = (record[name] for name in _TIMES if name in record)
        return next((time for time in times if isinstance(time, float | str)), None)
    return None


_HTML = re.compile(
    r"<(?:!doctype html|!--|\?xml|(?:html|head|body|pre|div|p|table|article|section|span|code|td)[ >])",
    re.IGNORECASE,
)
_BLOCKS = {"br", "p", "div", "li", "tr", "pre", "table", "h1", "h2", "h3", "h4", "article", "hr"}
_UNSEEN = {"script", "style", "head", "template"}


class _Text(HTMLParser):
    """Collects what a page shows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen = 0 if tag == "body" else self._unseen + (tag in _UNSEEN)
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN and self._unseen > 0
        if tag in _BLOCKS:
            self.found.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.found.append(data)


def _from_html(pieces: Iterable[str]) -> Iterator[str]:
    page, read = _Text(), 0
    for piece in pieces:
        page.feed(piece)
        yield "".join(page.found)
        page.found.clear()
        read += len(piece)
        if read > MAX_DOCUMENT:
            break
    page.close()
    yield "".join(page.found)
