"""The prefix that PyTorch's logger puts before every line of a message, whole or shortened.

`TorchLogsFormatter.format` in torch/_logging/_internal.py: `[rank6]:V1129 12:37:49.659000 4514
torch/_dynamo/guards.py:5396] [0/8] [__recompiles] ` since 2.3, `[2023-11-06 14:54:08,549] [0/8]
torch._dynamo.guards.__recompiles: [DEBUG] ` before. People shorten it from the left:
`.../torch/_dynamo/guards.py:5396] [0/8]`, `[0/8] [__recompiles]`.
"""

from __future__ import annotations

import re

_IDS = r"\[(?P<{}>(?:!?\d{{1,9}}/)?\d{{1,9}}/\d{{1,9}})(?:_\d{{1,9}})?\]"
_FILE = r"\.py:\d{1,7}\]"
_OLD_LOGGER = r"torch[\w.]{{0,200}}?(?:\.__(?P<{}>\w{{1,64}}))?: \[[A-Z]{{4,8}}\] ?"

PREFIX = re.compile(
    r"(?:\[rank(?P<rank>\d{1,7})\]: ?){0,3}"
    r"(?:"
    # glog's format
    r"[VIWEC](?P<time>\d{4} \d\d:\d\d:\d\d\.\d{3,6}) {1,4}(?P<process>\d{1,20})"
    rf" [^\]\[\n]{{1,400}}?{_FILE}(?: {_IDS.format('ids')})?(?: \[__(?P<artifact>\w{{1,64}})\])? ?"
    # its file alone, at a word's beginning
    r"|(?:(?<!\S)|(?<=\]:))(?:(?P<cut_process>\d{1,20}) )?(?=[^\s\]\[]{1,400}\.py:\d)"
    rf"(?:[^\s\]\[]{{0,300}}?torch[/\\][^\s\]\[]{{1,300}}?{_FILE}(?: {_IDS.format('file_ids')})?"
    r"(?: \[__(?P<file_artifact>\w{1,64})\])? ?"
    rf"|[^\s\]\[]{{1,300}}?{_FILE} {_IDS.format('only_ids')}(?: \[__(?P<only_artifact>\w{{1,64}})\])? ?)"
    # before 2.3
    r"|\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\](?: "
    rf"{_IDS.format('old_ids')})? {_OLD_LOGGER.format('old_artifact')}"
    # without a time
    rf"|{_IDS.format('bare_ids')} (?:\[__(?P<bare_artifact>\w{{1,64}})\] ?|{_OLD_LOGGER.format('bare_old')})"
    r"|\[__(?P<lone_artifact>\w{1,64})\] ?"
    r")"
)


def told(prefix: re.Match[str], what: str) -> str | None:
    """What a prefix tells of `ids`, `artifact`, `process` or `time`, in whichever form it has it."""
    return next((prefix[name] for name in _NAMES[what] if prefix[name] is not None), None)


_NAMES = {
    "ids": ("ids", "file_ids", "only_ids", "old_ids", "bare_ids"),
    "artifact": (
        "artifact",
        "file_artifact",
        "only_artifact",
        "old_artifact",
        "bare_artifact",
        "bare_old",
        "lone_artifact",
    ),
    "process": ("process", "cut_process"),
    "time": ("time", "date"),
}


def last_prefix(text: str) -> re.Match[str] | None:
    """The last prefix on a line, or None."""
    return max(PREFIX.finditer(text), key=re.Match.start, default=None)
