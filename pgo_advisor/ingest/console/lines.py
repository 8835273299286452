"""Lines of console text: what PyTorch's logger printed, freed from all that others put around it.

Launchers, shells, terminals and issue trackers add colors, ranks, times, quotes and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgo_advisor.ingest.console.containers import text_lines
from pgo_advisor.ingest.console.joining import joined
from pgo_advisor.ingest.console.prefixes import PREFIX, told

_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[@-_]"
    r"|\[(?:\d{1,3};){0,4}\d{1,3}m|[\x00-\x08\x0e-\x1a\x7f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]|\[\d{1,3}[;m]")
_QUOTE = re.compile(r"(?:> ?)+")
_LINK = re.compile(r"\[([^\]\[\n]{1,400})\]\((?:https?|file):[^)\[\n]{0,2000}\)")
_RANK = re.compile(
    r"\[(?:rank|default)(\d{1,7})\]|\brank[ =:_]{1,2}(\d{1,7})\b|Worker_(?:DP\d+_)?TP(\d{1,7})"
)
_PID = re.compile(r"\bpid[ =:]{1,2}(\d{1,20})")
_LAUNCHERS = 200


@dataclass(frozen=True)
class Line:
    """One line of a message. All but `text` is None where the text does not tell."""

    text: str
    rank: int | None = None
    process: str | None = None
    """The process id: it tells interleaved processes apart."""
    ids: str | None = None
    time: str | None = None
    artifact: str | None = None
    prefixed: bool = False
    dated: bool = False
    """Has the prefix of releases before 2.3, with the year."""


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file that holds console text, also those not PyTorch's. Memory stays bounded."""
    texts = (text for line in text_lines(path) if (text := _clean(line)).strip())
    for text in joined(texts):
        yield from parse_line(text)


def _clean(text: str) -> str:
    """Without what a terminal or an issue tracker put into it."""
    if _CONTROL.search(text):
        text = _ESCAPE.sub("", text)
    if text.startswith(">"):
        text = _QUOTE.sub("", text, count=1)
    return _LINK.sub(r"\1", text) if "](" in text else text


def parse_line(text: str) -> Iterator[Line]:
    """The messages on one line of text: several if processes wrote into each other's lines."""
    prefixes = list(PREFIX.finditer(text)) if "[" in text or "]" in text else []
    if not prefixes:
        yield Line(text, *_launched(text))
        return
    before = text[: prefixes[0].start()]
    if before.strip() and (start := before.find("torch._dynamo hit config.")) >= 0:
        yield Line(before[start:], *_launched(before))
    rank, process = _launched(before)
    ends = [prefix.start() for prefix in prefixes[1:]] + [len(text)]
    for prefix, end in zip(prefixes, ends, strict=True):
        yield Line(
            text=text[prefix.end() : end].rstrip(),
            rank=rank if prefix["rank"] is None else int(prefix["rank"]),
            process=told(prefix, "process") or process,
            ids=told(prefix, "ids"),
            time=told(prefix, "time"),
            artifact=told(prefix, "artifact"),
            prefixed=True,
            dated=prefix["date"] is not None,
        )


def _launched(before: str) -> tuple[int | None, str | None]:
    """The rank and the process id that a launcher put before a line."""
    head = before[:_LAUNCHERS]
    rank = _RANK.search(head) if "ank" in head or "Worker" in head or "[default" in head else None
    process = _PID.search(head) if "pid" in head else None
    told_rank = next(filter(None, rank.groups()), None) if rank else None
    return None if told_rank is None else int(told_rank), process[1] if process else None
