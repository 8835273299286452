"""Recorded Python stacks: whose code a frame is, and where a compiled function was called from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgo_advisor.ingest.trace.records import Stack, StackFrame

_LIBRARY = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*)[\\/]|^<frozen ")
_TORCH = re.compile(r"[\\/]torch[\\/](?:_dynamo|nn|_inductor|_functorch|fx|utils|autograd)[\\/]")
_COMPILER_ENTRY = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]convert_frame\.py$")
_PASSES_ARGUMENTS_ON = re.compile(
    r"[\\/]torch[\\/](?:_dynamo[\\/]|nn[\\/]modules[\\/]module\.py$|nn[\\/]parallel[\\/]|_compile\.py$"
    r"|utils[\\/]_contextlib\.py$|amp[\\/]autocast_mode\.py$)|[\\/]contextlib\.py$"
)
_COMPILED_CALL = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]eval_frame\.py$")


class UserFrame(NamedTuple):
    """A line of the user's own code."""

    file: str
    line: int
    function: str
    code: str | None


class Callers(NamedTuple):
    """Who calls a compiled function.

    `frames` are the user's own, the innermost last. `through` is the file of library code, called by that
    one, that makes the call itself: then its arguments are not those in the user's statement.
    """

    frames: list[UserFrame]
    through: str | None


class Strings:
    """The string table of a process: stacks name files by number."""

    def __init__(self, strings: Mapping[int, str] | None = None) -> None:
        self._strings = dict(strings or {})

    def __len__(self) -> int:
        return len(self._strings)

    def copy(self) -> Strings:
        return Strings(self._strings)

    def put(self, number: int, string: str) -> None:
        self._strings[number] = string

    def add(self, strings: Sequence[str | None]) -> None:
        """Adds tlparse's table, with None for what the log lacks."""
        self._strings.update(
            (number, string) for number, string in enumerate(strings) if string is not None
        )

    def file(self, frame: StackFrame) -> str:
        """The frame's file; `<unknown>` where the table lacks it."""
        if isinstance(frame.filename, str):
            return frame.filename
        return self._strings.get(frame.filename) or "<unknown>"

    def user_frames(self, stack: Stack) -> list[UserFrame]:
        """The frames that are neither PyTorch's, the standard library's, nor an installed package's."""
        found = []
        for frame in stack:
            file = self.file(frame)
            if not (_LIBRARY.search(file) or _TORCH.search(file)):
                found.append(UserFrame(file, frame.line, frame.name, frame.loc))
        return found

    def innermost(self, stack: Stack | None) -> UserFrame | None:
        """The user's line that a record on symbols speaks of: the innermost one of their own."""
        if not stack:
            return None
        frames = self.user_frames(stack)
        if frames:
            return frames[-1]
        last = stack[-1]
        return UserFrame(self.file(last), last.line, last.name, last.loc)

    def callers_at_start(self, stack: Stack) -> Callers | None:
        """Who calls a compiled function, from `dynamo_start`.

        The last frame of that stack is the compiled function itself. None where the true caller is
        missing: since 2.8 it is, for a function that is compiled directly, and then the stack has
        no frame of `eval_frame.py`.
        """
        outer = stack[:-1]
        if not any(_COMPILED_CALL.search(self.file(frame)) for frame in outer):
            return None
        return self._callers(outer)

    def callers_while_tracing(self, stack: Stack) -> Callers | None:
        """The same from the full stack of a record that was written while tracing."""
        for index, frame in enumerate(stack):
            if _COMPILER_ENTRY.search(self.file(frame)):
                return self._callers(stack[:index])
        return None

    def _callers(self, stack: Stack) -> Callers | None:
        frames = self.user_frames(stack)
        if not frames:
            return None
        through = None
        for frame in reversed(stack):
            if self.user_frames([frame]):
                break
            if not _PASSES_ARGUMENTS_ON.search(self.file(frame)):
                through = self.file(frame)
        return Callers(frames, through)
