"""Which lines of the user's code brought a cause about, as far as the record tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim, declarable
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.report import Cause, UserLine
from pgo_advisor.rules.code_object import CodeObject

_LOCATION = re.compile(r"(.*):(\d{1,9}) in .*", re.DOTALL)
_FILE = re.compile(r'^ {2,8}File "([^"\n]{1,4000})", line \d', re.MULTILINE)


def stated(code: CodeObject, cause: Cause) -> Iterator[UserLine]:
    """The line that PyTorch's reason names, where that brought the guard about.

    A size of 0 or 1 is special in the framework: the line with that guard is only the size's first use.
    """
    if line := stated_in([frame.file for frame in code.frames], cause):
        yield line


def stated_in(files: Iterable[str], cause: Cause) -> UserLine | None:
    """The same, with the whole path of the file where it is one of these or stands in the reason."""
    place = _LOCATION.fullmatch(cause.user_location or "")
    if place is None or cause.kind is CauseKind.zero_one:
        return None
    whole = (*files, *_FILE.findall(cause.text or ""))
    file = next((path for path in whole if path.endswith(place[1])), place[1])
    return UserLine(file, int(place[2]), cause.user_code)


def deciding(code: CodeObject, cause: Cause) -> Iterator[UserLine]:
    """The line that a failed guard on sizes names; else those where the code decided by that size."""
    pair = SourceDim(cause.source or "", cause.dim)
    named = [*stated(code, cause)]
    yield from named or (line for call in code.compiles for line in _decisions(call, pair))


def pinning(code: CodeObject, cause: Cause) -> Iterator[UserLine]:
    """Where the code turned a size or an int into a constant; else where it first read it."""
    pair = SourceDim(cause.source or "", cause.dim)
    found = [
        line
        for call in code.compiles
        if pair in call.specialized
        for line in ([call.pinned_at[pair]] if pair in call.pinned_at else _decisions(call, pair))
    ]
    yield from found or stated(code, cause)


def _decisions(call: Compile, pair: SourceDim) -> Iterator[UserLine]:
    for relation, line in call.decided_at:
        if any(declarable(call.symbols.get(name, name)) == pair for name in relation.names):
            yield line
