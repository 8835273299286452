"""Lines of console text: what PyTorch's logger printed, freed from all that others put around it.

`torch/_logging/_internal.py`, `TorchLogsFormatter.format`, puts a prefix before every line of a message:
`[rank6]:V1129 12:37:49.659000 4514 torch/_dynamo/guards.py:5396] [0/8] [__recompiles] ` since 2.3,
`[2023-11-06 14:54:08,549] [0/8] torch._dynamo.guards.__recompiles: [DEBUG] ` before. Launchers, shells,
terminals and issue trackers add their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAX_LINE = 1 << 17
_NARROWEST = 60
_BEHIND = 8

_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[@-_]"
    r"|\[(?:\d{1,3};){0,4}\d{1,3}m"
)
_QUOTE = re.compile(r"(?:> ?)+")
_LINK = re.compile(r"\[([^\]\[\n]{1,400})\]\((?:https?|file):[^)\n]{0,2000}\)")
_PREFIX = re.compile(
    r"(?:\[rank(?P<rank>\d{1,7})\]: ?){0,3}"
    r"(?:[VIWEC](?P<time>\d{4} \d\d:\d\d:\d\d\.\d{3,6}) (?P<process>\d{1,20})"
    r" [^\]\[\n]{1,400}?\.py:\d{1,7}\](?: \[(?P<ids>(?:!?\d{1,9}/)?\d{1,9}/\d{1,9})(?:_\d{1,9})?\])?"
    r"(?: \[__(?P<artifact>\w{1,64})\])? ?"
    r"|\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\](?: \[(?P<old_ids>\d{1,9}/\d{1,9})(?:_\d{1,9})?\])?"
    r" torch[\w.]{0,200}?(?:\.__(?P<old_artifact>\w{1,64}))?: \[[A-Z]{4,8}\] ?)"
)
_RANK = re.compile(r"\[(?:rank|default)(\d{1,7})\]:?")


@dataclass(frozen=True)
class Line:
    """One line of a message. All but `text` is None where the text does not tell."""

    text: str
    rank: int | None = None
    process: str | None = None
    """The process id, or what stands before the line: it tells interleaved processes apart."""
    ids: str | None = None
    time: str | None = None
    artifact: str | None = None
    prefixed: bool = False


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a text file, also those that are not PyTorch's. Memory stays bounded.

    Lines that a terminal cut at its width are joined again.
    """
    width = _terminal_width(path)
    pending = ""
    for text in _texts(path):
        if pending and not _is_prefixed(text):
            text = pending + text
        elif pending:
            yield from parse_line(pending)
        pending = ""
        if width and len(text) % width == 0 and len(text) < _MAX_LINE and _is_prefixed(text):
            pending = text
        else:
            yield from parse_line(text)
    if pending:
        yield from parse_line(pending)


def _texts(path: Path) -> Iterator[str]:
    """The lines that can matter: those of PyTorch, and a few behind each, which can go on with it."""
    behind = 0
    with path.open("rb") as file:
        while raw := file.readline(_MAX_LINE):
            if not raw.endswith(b"\n") and len(raw) == _MAX_LINE:
                while (rest := file.readline(_MAX_LINE)) and not rest.endswith(b"\n"):
                    pass
            # most lines of a console log are the program's own
            if b"torch" in raw or b"Recompiling" in raw or b"- " in raw or b": '" in raw:
                behind = _BEHIND
            elif behind == 0:
                continue
            else:
                behind -= 1
            for text in raw.decode("utf-8", errors="replace").replace("\0", "").splitlines():
                if text.strip():
                    yield text


def _is_prefixed(text: str) -> bool:
    return "torch" in text and _PREFIX.search(text) is not None


def _terminal_width(path: Path) -> int | None:
    """The width at which lines were cut: several of PyTorch's lines have it, and none is longer."""
    longest = prefixed = cut = 0
    for text in _texts(path):
        if _is_prefixed(text):
            prefixed += 1
            if len(text) > longest:
                longest, cut = len(text), 0
            cut += len(text) == longest
    return longest if cut > 2 and cut * 5 >= prefixed and longest >= _NARROWEST else None


def parse_line(text: str) -> Iterator[Line]:
    """The messages on one line of text: several if processes wrote into each other's lines."""
    if "[" in text or "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if text.startswith(">"):
        text = _QUOTE.sub("", text, count=1)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    prefixes = list(_PREFIX.finditer(text)) if "torch" in text else []
    if not prefixes:
        yield Line(text)
        return
    before = text[: prefixes[0].start()]
    if before.strip() and (start := before.find("torch._dynamo hit config.")) >= 0:
        yield Line(before[start:])
    ends = [prefix.start() for prefix in prefixes[1:]] + [len(text)]
    for prefix, end in zip(prefixes, ends, strict=True):
        told = _RANK.search(before)
        rank = prefix["rank"] or (told[1] if told else None)
        yield Line(
            text=text[prefix.end() : end].rstrip(),
            rank=None if rank is None else int(rank),
            process=prefix["process"],
            ids=prefix["ids"] or prefix["old_ids"],
            time=prefix["time"] or prefix["date"],
            artifact=prefix["artifact"] or prefix["old_artifact"],
            prefixed=True,
        )
