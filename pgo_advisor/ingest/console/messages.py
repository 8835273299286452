"""What TORCH_LOGS, warnings and errors tell of recompiles: messages, read line by line.

The messages were read in 2.0, 2.1, 2.3, 2.5, 2.13 and recorded from 2.7, 2.13 and 2.15: `get_and_maybe_log_
recompilation_reasons` in torch/_dynamo/guards.py, `_compile` in convert_frame.py (the warning at the limit),
`fail_callback` in eval_frame.py (stances). `details` reads those of single symbols, `errors` those of errors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.guard_failures import parse_failure
from pgo_advisor.ingest.console.containers import pieces_of
from pgo_advisor.ingest.console.details import read_detail
from pgo_advisor.ingest.console.errors import Remarks, read_violation
from pgo_advisor.ingest.console.lines import Line, read_lines
from pgo_advisor.ingest.console.printed import Code, Printed, Process

_SAYS = re.compile(
    r"Recompiling function [^\s{%]|torch\._dynamo hit config\.\w{1,60} \(\d|\[__recompiles(?:_verbose)?\]"
    r"|create_symbol \w{1,64} = \S{1,64} for |torchdynamo start (?:tracing|compiling) [^\s%{]"
    r"|Graph break in user code at [^\s%{]|Graph break: |Constraints violated \([^{]"
    r"|compile stance is 'fail_on_recompile'\. filename: '[^{]|Dynamo recompile limit exceeded\n"
    r"|(?:recompile|cache_size)_limit reached|mismatch at index \d{1,4}\. expected \d"
    r"|triggered by the following guard failure\(s\):\r?\n|We have observed \d{1,9} distinct sizes"
    r"|: (?:tensor size=\[[^\]]{0,400}\] stride=\[|scalar \d)"
    r"|torch\._dynamo\.exc\.\w{1,60}: |\[guard added\]|wrap_to_fake "
)
_LITERALS = (
    *("Recompiling function ", "torch._dynamo", "[__recompiles", "create_symbol ", "Graph break"),
    *("torchdynamo start ", "Constraints violated", "fail_on_recompile", "ecompile limit exceeded"),
    *("_limit reached", " mismatch at ", "following guard failure", "distinct sizes", ": scalar "),
    *("[guard added]", "wrap_to_fake ", ": tensor size=["),
)
_OWN = ("pgo-advisor</title>", '"pgo_advisor"', '"pgo-advisor"')
_OVERLAP = 200

MAX_REASONS = 100_000
_MAX_COMPILES = 20_000
_PATIENCE = 12


def is_console(path: Path) -> bool:
    """Whether a file holds such a text. It may come late, so all of a file that is text is searched."""
    before = ""
    for number, piece in enumerate(pieces_of(path)):
        if number == 0 and any(mark in piece[:4096] for mark in _OWN):
            return False
        piece = before + piece
        if any(literal in piece for literal in _LITERALS) and _SAYS.search(piece):
            return True
        before = piece[-_OVERLAP:]
    return False


def not_understood(path: Path) -> str | None:
    """What a file that `is_console` refuses holds of PyTorch all the same, in a sentence; None if nothing."""
    remarks = Console(path).remarks
    return remarks.nothing() if remarks.told else None


_RECOMPILING = re.compile(
    r"\ARecompiling function ([^\s'\"]{1,1000})(?: in ([^'\"`]{1,4000}?)(?::(\d{1,7}))?\s{0,9}(?:$|['\"`]))?"
)
_LIMIT = re.compile(r"\Atorch\._dynamo hit config\.(\w{1,60}) ?\((\d{1,9})\)")
_FUNCTION = re.compile(r"\Afunction: '([^']{1,1000})' \((.{1,4000}):(\d{1,7})\)")
_LAST_REASON = re.compile(r"\A(?:last reason|reasons?):\s{1,4}(.{1,100000})$")
_STANCE = re.compile(
    r"\Acompile stance is 'fail_on_recompile'\. filename: '([^']{1,4000})', function name: '([^']{1,1000})', "
    r"line number: (\d{1,7})"
)
_EXCEEDED = re.compile(r"exceeding the (\w{1,60}) cache size limit \(currently set to (\d{1,9})\)")
_PRECOMPILED = re.compile(r"\Averbose_code_parts=\[(.{1,100000})\],?$")
_REASON = re.compile(r"\A\s{0,80}[-*+\u2022\u2013\u2014] ?(.*)$")
_GUARD = re.compile(r"\Aguard (\d{1,9}) failures:")
_AGAINST = re.compile(r"\A((?:!\d{1,9}/)?\d{1,9})/\d{1,9}(?:_\d{1,9})?: ")
_ENDS = ("To log all", "To diagnose", "to diagnose", "User stack", "File ")
_DIGIT = re.compile(r"\d")
_VIOLATION = "ConstraintViolationError"
_MAX_EVALUATED = 20_000
_PROFILE = re.compile(
    r": (?:tensor size=\[|scalar \S|fully dynamic scalar or tensor|unusual )"
    r"|\A[^ ].{0,4000}:\d{1,18}:[^:]{1,1000}:\Z"
)


class Console:
    """Reads one file of console text into the compiles that it tells of, in their order."""

    def __init__(self, path: Path) -> None:
        self.compiles: list[Printed] = []
        self.dropped = 0
        self.remarks = Remarks()
        self.profile: list[str] = []
        """Lines of a PGO profile that is pasted, too."""
        self._current: dict[tuple[Process, str], Printed] = {}
        self._generation: dict[Process, int] = {}
        self._open: dict[tuple[Process, str | None], Printed] = {}
        """The compile of which a process's last message spoke."""
        self._latest: Printed | None = None
        self._idle = 0
        self._guard: int | None = None
        self._before = ""
        """What a launcher put before the message's first line, with 0 for each digit."""
        self._reasons = 0
        for line in read_lines(path):
            self._read(line)

    def _read(self, line: Line) -> None:
        text = line.text.strip()
        for marker, read in _BEGINNINGS.items():
            if (start := text.find(marker)) >= 0 and read(self, line, text[start:]):
                self._idle, self._guard = 0, None
                before = "" if line.prefixed else line.text[: line.text.find(marker)]
                self._before = _DIGIT.sub("0", before)
                return
        if _PROFILE.search(line.text) and len(self.profile) < MAX_REASONS:
            self.profile.append(line.text)
        process = (line.rank, line.process)
        text = self._without_launcher(line)
        if (open_ := self._opened(process, line, text)) and self._goes_on(open_, line, text):
            self._idle = 0
            return
        self._idle += 1
        if line.prefixed or self._idle > _PATIENCE:
            self._open.pop((process, line.ids), None)
        if line.ids and self._is_detail(line):
            return
        if not self._orphan(process, line, text):
            self.remarks.read(line, text)

    def _without_launcher(self, line: Line) -> str:
        """The text without what also stood, but for its digits, before the message's first line."""
        if line.prefixed or not self._before:
            return line.text
        here = _DIGIT.sub("0", line.text[: len(self._before)])
        same = takewhile(lambda pair: pair[0] == pair[1], zip(self._before, here, strict=False))
        return line.text[sum(1 for _ in same) :]

    def _opened(self, process: Process, line: Line, text: str) -> Printed | None:
        open_ = self._open.get((process, line.ids))
        if open_ is None and not line.prefixed and (process == (None, None) or self._before):
            open_ = self._latest if self._idle <= _PATIENCE else None
        if open_ is None or not open_.ids:
            return open_
        reason = _REASON.match(text)
        against = _AGAINST.match(reason[1]) if reason else None
        return None if against and against[1] != open_.ids.rpartition("/")[0] else open_

    def _goes_on(self, compile_: Printed, line: Line, text: str) -> bool:
        """Whether the line goes on with the message on the compile."""
        bare = text.strip()
        if compile_.error and compile_.error[0] == _VIOLATION and read_violation(compile_, text):
            return True
        if match := _FUNCTION.match(bare):
            compile_.code = (match[1], match[2], int(match[3]))
        elif match := _LAST_REASON.match(bare):
            if not compile_.reasons:
                self._reason(compile_, match[1].strip())
        elif "triggered by the following guard failure" in bare:
            self._guard = None
        elif match := _GUARD.match(bare):
            self._guard = int(match[1])
        elif match := _PRECOMPILED.match(bare):
            self._precompiled(compile_, match[1])
        elif (match := _REASON.match(text)) and self._may_be_reason(compile_, line, text):
            self._reason_line(compile_, match[1])
        elif compile_.stack and compile_.reasons and (line.prefixed or text.startswith("  ")):
            compile_.reasons[-1] += f"\n{text.rstrip()}"
        else:
            return self._stack(compile_, bare) or bare.startswith(_ENDS) or not bare
        return True

    def _stack(self, compile_: Printed, bare: str) -> bool:
        """Whether a reason's stack begins, which no dash stands before in the warning at the limit."""
        compile_.stack = bare == "User stack trace:" and bool(compile_.reasons)
        if compile_.stack:
            compile_.reasons[-1] += f"\n{bare}"
        return compile_.stack

    def _may_be_reason(self, compile_: Printed, line: Line, text: str) -> bool:
        if compile_.limit:
            return False
        whole = line.prefixed or (self._idle == 0 and text.startswith(" "))
        bare = text.lstrip()
        return (whole and bare.startswith("-")) or _is_reason(bare[1:].lstrip())

    def _reason_line(self, compile_: Printed, content: str) -> None:
        if content.startswith((" ", "User stack trace:")) and compile_.reasons:
            compile_.reasons[-1] += f"\n{content}"
        elif content:
            self._reason(compile_, content.rstrip())

    def _reason(self, compile_: Printed, reason: str) -> None:
        if not reason or reason.startswith(("None", "Unable to find recompilation reasons")):
            return
        self._reasons += 1
        if self._reasons > MAX_REASONS:
            self.dropped += 1
            return
        compile_.add(reason, self._guard)

    def _precompiled(self, compile_: Printed, parts: str) -> None:
        try:
            found = ast.literal_eval(f"[{parts[:_MAX_EVALUATED]}]")
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return
        for part in found:
            self._reason(compile_, str(part))

    def _recompiling(self, line: Line, text: str) -> bool:
        if match := _RECOMPILING.match(text):
            self._begin(line, (match[1], match[2], int(match[3]) if match[3] else None))
        return match is not None

    def _tuple(self, line: Line, text: str) -> bool:
        """2.1 prints the tuple that it logs."""
        try:
            first, second = ast.literal_eval(text[: text.rindex(")", 0, _MAX_EVALUATED) + 1])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return False
        if not self._recompiling(line, str(first)) or self._latest is None:
            return False
        self.remarks.at_most("2.1", "the form of its messages")
        _, _, told = str(second).partition("guard failure")
        several, _, reasons = told.partition(": ")
        try:
            found = ast.literal_eval(reasons) if several == "s" else [reasons]
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found = [reasons]
        for reason in found if isinstance(found, list) else [reasons]:
            self._reason(self._latest, str(reason))
        return True

    def _hit(self, line: Line, text: str) -> bool:
        match = _LIMIT.match(text)
        if match is None:
            return False
        self._at_limit(line, match[1], int(match[2]))
        if match[1] == "cache_size_limit":
            self.remarks.at_most("2.6", "config.cache_size_limit")
        return True

    def _exceeded(self, line: Line, text: str) -> bool:
        """The exception that follows the warning, or stands alone, then without the function's name."""
        if text.startswith("cache_size_limit"):
            self.remarks.at_most("2.6", "cache_size_limit")
        told = _EXCEEDED.search(text)
        if not any(compile_.limit for compile_ in self.compiles):
            self._at_limit(
                line, told[1] if told else "recompile_limit", int(told[2]) if told else None
            )
        elif told and self.compiles[-1].limit and self.compiles[-1].limit[1] is None:
            self.compiles[-1].limit = (told[1], int(told[2]))
        return True

    def _at_limit(self, line: Line, kind: str, number: int | None) -> None:
        process = (line.rank, line.process)
        compile_ = (
            self._compile(process, line.ids) if line.ids else self._new(Printed(process, None))
        )
        compile_.limit = (kind, number)
        compile_.time = compile_.time or line.time
        self._opens(line, compile_)

    def _stance(self, line: Line, text: str) -> bool:
        match = _STANCE.match(text)
        if match is None:
            return False
        self._begin(line, (match[2], match[1], int(match[3])))
        self.remarks.forbidden = True
        return True

    def _violated(self, line: Line, text: str) -> bool:
        if "UserError: " in line.text:
            self.remarks.export = True
            return True
        process, told = (line.rank, line.process), (_VIOLATION, text[:1000])
        for known in self.compiles:
            if (
                known.error == told
                and (line.ids in (None, known.ids))
                and line.rank == known.process[0]
            ):
                # logged when the guard could not be made, raised after that
                self._opens(line, known)
                known.violated.clear()
                return True
        compile_ = (
            self._compile(process, line.ids) if line.ids else self._new(Printed(process, None))
        )
        compile_.error = told
        self._opens(line, compile_)
        return True

    def _begin(self, line: Line, code: Code) -> Printed:
        process = (line.rank, line.process)
        if line.ids is None:
            compile_ = self._new(Printed(process, None, code=code, time=line.time))
        else:
            known = self._current.get((process, line.ids))
            another = known is not None and bool(known.reasons) and known.time != line.time
            if another or (known is not None and known.code and known.code != code):
                # the ids come again after torch._dynamo.reset(), or in another program's log
                self._generation[process] = self._generation.get(process, 0) + 1
                for key in [key for key in self._current if key[0] == process]:
                    del self._current[key]
            compile_ = self._compile(process, line.ids)
            compile_.code, compile_.time = code, line.time
            compile_.again()
        self._opens(line, compile_)
        return compile_

    def _opens(self, line: Line, compile_: Printed) -> None:
        self._open[(line.rank, line.process), line.ids] = self._latest = compile_
        if line.dated:
            self.remarks.at_most("2.2", "the date before its lines")

    def _compile(self, process: Process, ids: str) -> Printed:
        compile_ = self._current.get((process, ids))
        if compile_ is None:
            compile_ = Printed(process, ids, self._generation.get(process, 0))
            self._current[process, ids] = self._new(compile_)
        return compile_

    def _new(self, compile_: Printed) -> Printed:
        if len(self.compiles) < _MAX_COMPILES:
            self.compiles.append(compile_)
        else:
            self.dropped += 1
        return compile_

    def _orphan(self, process: Process, line: Line, text: str) -> bool:
        """Whether it is a reason, or the function that hit the limit, whose first line is cut off."""
        bare = text.strip()
        if _FUNCTION.match(bare):
            compile_ = (
                self._compile(process, line.ids) if line.ids else self._new(Printed(process, None))
            )
            compile_.limit = compile_.limit or ("recompile_limit", None)
            self._opens(line, compile_)
            return self._goes_on(compile_, line, text)
        reason = _LAST_REASON.match(bare) or _REASON.match(bare)
        if reason is None or not _is_reason(reason[1]):
            return False
        compile_ = (
            self._compile(process, line.ids) if line.ids else self._new(Printed(process, None))
        )
        self._reason(compile_, reason[1].rstrip())
        self._opens(line, compile_)
        return True

    def _is_detail(self, line: Line) -> bool:
        return read_detail(line, lambda: self._compile((line.rank, line.process), line.ids or ""))


def _is_reason(content: str) -> bool:
    """Whether a text that stands alone is a reason of a recompile."""
    if not (_AGAINST.match(content) or content.startswith("tensor '")):
        return False
    return parse_failure(content).cause.kind is not CauseKind.unknown


_BEGINNINGS: dict[str, Callable[[Console, Line, str], bool]] = {
    "('Recompiling function ": Console._tuple,
    "Recompiling function ": Console._recompiling,
    "torch._dynamo hit config.": Console._hit,
    "compile stance is 'fail_on_recompile'": Console._stance,
    "Dynamo recompile limit exceeded": Console._exceeded,
    "Dynamo attempted to recompile the code object too many times": Console._exceeded,
    "Constraints violated (": Console._violated,
    "recompile_limit reached": Console._exceeded,
    "cache_size_limit reached": Console._exceeded,
}
