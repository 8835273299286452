"""What TORCH_LOGS printed: recompiles with their reasons, symbols, sizes, graph breaks.

The messages were read in 2.1, 2.3, 2.5, 2.13 and recorded from 2.7, 2.13 and 2.15: `get_and_maybe_log_
recompilation_reasons` in torch/_dynamo/guards.py, `_compile` in convert_frame.py (the warning at the limit),
`update_automatic_dynamic` in pgo.py, `wrap_to_fake_tensor_and_record` in variables/builder.py,
`ShapeEnv.create_symbol` in torch/fx/experimental/symbolic_shapes.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgo_advisor.ingest.console.lines import Line, read_lines

MARKERS = (
    b"Recompiling function ",
    b"torch._dynamo hit config.",
    b"[__recompiles",
    b"create_symbol ",
    b"torchdynamo start ",
    b"Graph break in user code at ",
    b"Graph break: ",
)
"""Texts of which a console log that tells something holds one."""

_CODE = {".py", ".pyc", ".so", ".cpp", ".h", ".cubin", ".ttir", ".json", ".jsonl", ".html", ".js"}
"""Files beside a log that can speak of these messages, or are large."""

MOST_REASONS = 100_000
_MAX_COMPILES = 20_000


def is_console(path: Path, head: bytes) -> bool:
    """Whether a file holds such a text. It may come late, so all of a file that is text is searched."""
    if b"\0" in head[:4096] and not any(marker in head for marker in MARKERS):
        return False
    if path.suffix in _CODE:
        return False
    most = max(map(len, MARKERS))
    with path.open("rb") as file:
        last = b""
        while chunk := file.read(1 << 20):
            if any(marker in last + chunk for marker in MARKERS):
                return True
            last = chunk[-most:]
    return False


Process = tuple[int | None, str | None]
Code = tuple[str, str, int]


@dataclass
class Printed:
    """A compile as far as text tells of it."""

    process: Process
    ids: str | None
    generation: int = 0
    order: int = 0
    """Where there are no ids: which recompile of its function it is, from 1."""
    code: Code | None = None
    reasons: list[str] = field(default_factory=list)
    time: str | None = None
    limit: bool = False
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Whole sizes of tensors, from +dynamo."""
    changed: list[tuple[str, int | None, str, str]] = field(default_factory=list)
    """What automatic dynamic saw change: source, dim or None for an int, new, old."""
    symbols: dict[str, tuple[str, str, str | None, str | None]] = field(default_factory=dict)
    """By name of the symbol: what it stands for, its value and its bounds."""
    pinned: list[tuple[str, str, str]] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)


_RECOMPILING = re.compile(r"Recompiling function (\S{1,1000}) in (.{1,4000}):(\d{1,7})$")
_LIMIT = re.compile(r"torch\._dynamo hit config\.\w{1,60} \(\d{1,9}\)")
_FUNCTION = re.compile(r"\s{0,40}function: '(.{1,1000})' \((.{1,4000}):(\d{1,7})\)$")
_LAST_REASON = re.compile(r"\s{0,40}(?:last reason|reasons?): {1,4}(.{1,100000})$")
_TRACING = re.compile(
    r"(?:Step 1: )?torchdynamo start (?:tracing|compiling) (\S{1,1000}) (.{1,4000}):(\d{1,7})(?:,|$)"
)
_SYMBOL = re.compile(
    r"create_symbol (\w{1,64}) = (\S{1,64}) for ([^\n]{1,4000}?)"
    r"(?: (?:VR)?\[([^,\[\]]{1,40}), ([^\]]{1,40})\].*)?$"
)
_SIZES = re.compile(r"wrap_to_fake ([^\n]{1,4000}?) \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\) ")
_CHANGED = re.compile(
    r"automatic dynamic (?:(?:size )?(?P<tensor>.{1,4000}) size\((?P<dim>\d{1,3})\) "
    r"(?P<new>\d{1,19}) != (?P<old>\d{1,19})"
    r"|int (?P<int>.{1,4000}) val (?P<value>-?\d{1,19}) != (?P<before>-?\d{1,19}))$"
)
_PINNED = re.compile(r"set_replacement (\w{1,64}) = (-?\d{1,19}) (?:\((.{0,1000}?)\))?")
_DECIDED = re.compile(r"eval (.{1,4000}?) \[guard added\]")
_REASON = re.compile(r"\s{0,80}- ?(.*)$")
_HEADING = re.compile(
    r"\s{0,80}(?:triggered by the following guard failure|guard \d{1,9} failures:)"
)
_UNFINISHED = re.compile(
    r"(?: mismatch(?: at(?: index)?)?| index \d{1,4}\.?| expected| expected \S{1,40}(?:,|, actual)?"
    r"|, actual \d{1,19})$"
)


class Console:
    """Reads one file of console text into the compiles that it tells of, in their order."""

    def __init__(self, path: Path) -> None:
        self.compiles: list[Printed] = []
        self.dropped = 0
        self._current: dict[tuple[Process, str], Printed] = {}
        self._without_ids: dict[object, int] = {}
        self._generation: dict[Process, int] = {}
        self._open: dict[tuple[Process, str | None], Printed] = {}
        """The compile of which a process's last message spoke."""
        self._last: Line | None = None
        self._reasons = 0
        for line in read_lines(path):
            self._read(self._unwrapped(line))
        if self._last is not None:
            self._read(self._last)

    def _unwrapped(self, line: Line) -> Line | None:
        """The line before, which is whole only now: a terminal's wrapped lines are joined again."""
        last, self._last = self._last, line
        if last is None or line.prefixed or not last.text:
            return last
        cut_name = "Recompiling function " in last.text and not _RECOMPILING.search(last.text)
        cut_reason = _REASON.match(last.text) and _UNFINISHED.search(last.text)
        rest = line.text.strip()
        if cut_name or (cut_reason and re.fullmatch(r"[\w., ]{1,60}", rest)):
            if re.search(r", actual \d+$", last.text) and not rest.isdecimal():
                return last
            space = " " if re.search(r"[.,a-z]$", last.text) and not cut_name else ""
            self._last = replace(last, text=last.text + space + rest)
            return None
        return last

    def _read(self, line: Line | None) -> None:
        if line is None:
            return
        process = (line.rank, line.process)
        key = (process, line.ids)
        text = line.text.strip()
        if text.startswith("('Recompiling function "):  # 2.1 prints the tuple that it logs
            self._tuple(line, process, text)
            return
        if (start := text.find("Recompiling function ")) >= 0 and (
            match := _RECOMPILING.match(text, start)
        ):
            code = (match[1], match[2], int(match[3]))
            compile_ = self._begin(process, line, code)
            self._open[key] = compile_
            return
        if _LIMIT.search(text):
            compile_ = self._compile(process, line.ids) if line.ids else Printed(process, None)
            compile_.limit = True
            compile_.time = compile_.time or line.time
            self._open[key] = compile_
            return
        open_ = self._open.get(key)
        if open_ is not None and self._continues(open_, line):
            return
        self._open.pop(key, None)
        if line.ids:
            for marker, read in _DETAILS.items():
                if marker in text:
                    read(self._compile(process, line.ids), text)
                    break
            if line.artifact == "graph_breaks" or text.startswith("Graph break"):
                self._graph_break(process, line)

    def _continues(self, compile_: Printed, line: Line) -> bool:
        """Whether the line goes on with the message on the compile."""
        text = line.text
        if match := _FUNCTION.match(text):
            compile_.code = (match[1], match[2], int(match[3]))
            if compile_.ids is None:
                self._without_id(compile_)
            return True
        if match := _LAST_REASON.match(text):
            if not compile_.reasons:
                self._reason(compile_, match[1].strip())
            return True
        if _HEADING.match(text):
            return True
        if compile_.limit and text.lstrip().startswith(
            ("To log all", "To diagnose", "to diagnose")
        ):
            return True
        if (match := _REASON.match(text)) and (line.prefixed or text.startswith(" ")):
            content = match[1]
            if content.startswith((" ", "User stack trace:")) and compile_.reasons:
                compile_.reasons[-1] += f"\n{content}"
            elif content:
                self._reason(compile_, content.rstrip())
            return True
        return not text.strip()

    def _reason(self, compile_: Printed, reason: str) -> None:
        self._reasons += 1
        if self._reasons > MOST_REASONS:
            self.dropped += 1
        elif reason not in compile_.reasons:
            compile_.reasons.append(reason)

    def _tuple(self, line: Line, process: Process, text: str) -> None:
        try:
            first, second = ast.literal_eval(text[: text.rindex(")") + 1])
            match = _RECOMPILING.match(first)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return
        if match:
            compile_ = self._begin(process, line, (match[1], match[2], int(match[3])))
            _, marker, reason = second.partition("guard failure: ")
            if marker:
                self._reason(compile_, reason)

    def _begin(self, process: Process, line: Line, code: Code) -> Printed:
        if line.ids is None:
            compile_ = Printed(process, None, code=code, time=line.time)
            self._without_id(compile_)
            return compile_
        known = self._current.get((process, line.ids))
        if known is not None and known.reasons and known.time != line.time:
            # the ids come again after torch._dynamo.reset()
            self._generation[process] = self._generation.get(process, 0) + 1
            for key in [key for key in self._current if key[0] == process]:
                del self._current[key]
        compile_ = self._compile(process, line.ids)
        compile_.code, compile_.time = code, line.time
        return compile_

    def _compile(self, process: Process, ids: str) -> Printed:
        compile_ = self._current.get((process, ids))
        if compile_ is None:
            compile_ = Printed(process, ids, self._generation.get(process, 0))
            self._current[process, ids] = compile_
            if len(self.compiles) < _MAX_COMPILES:
                self.compiles.append(compile_)
            else:
                self.dropped += 1
        return compile_

    def _without_id(self, compile_: Printed) -> None:
        """Counts the recompiles of a function, where the text has no ids."""
        code = (compile_.process, compile_.code)
        if compile_.limit and code in self._without_ids:
            last = self._current[compile_.process, f"?{code}/{self._without_ids[code]}"]
            last.limit = True
            return
        number = self._without_ids[code] = self._without_ids.get(code, 0) + 1
        compile_.order = number
        self._current[compile_.process, f"?{code}/{number}"] = compile_
        if len(self.compiles) < _MAX_COMPILES:
            self.compiles.append(compile_)
        else:
            self.dropped += 1

    def _graph_break(self, process: Process, line: Line) -> None:
        compile_ = self._compile(process, line.ids or "")
        text = line.text
        if text.lstrip().startswith(("Graph break in user code", "Graph break (", "Graph break:")):
            compile_.breaks.append(text)
        elif compile_.breaks and len(compile_.breaks[-1]) < 4000:
            compile_.breaks[-1] += f"\n{text}"


def _tracing(compile_: Printed, text: str) -> None:
    if match := _TRACING.search(text):
        compile_.code = compile_.code or (match[1], match[2], int(match[3]))


def _symbol(compile_: Printed, text: str) -> None:
    if (match := _SYMBOL.search(text)) and len(compile_.symbols) < MOST_REASONS:
        compile_.symbols[match[1]] = (match[3], match[2], match[4], match[5])


def _size(compile_: Printed, text: str) -> None:
    if match := _SIZES.search(text):
        compile_.sizes[match[1]] = tuple(int(size) for size in match[2].split(",") if size.strip())


def _change(compile_: Printed, text: str) -> None:
    if match := _CHANGED.search(text):
        change: tuple[str, int | None, str, str]
        if match["int"]:
            change = (match["int"], None, match["value"], match["before"])
        else:
            change = (match["tensor"], int(match["dim"]), match["new"], match["old"])
        if change not in compile_.changed:
            compile_.changed.append(change)


def _pin(compile_: Printed, text: str) -> None:
    if match := _PINNED.search(text):
        compile_.pinned.append((match[1], match[2], match[3] or ""))


def _decide(compile_: Printed, text: str) -> None:
    if match := _DECIDED.search(text):
        compile_.decisions.append(match[1].removeprefix("[guard suppressed] "))


_DETAILS: dict[str, Callable[[Printed, str], None]] = {
    "torchdynamo start ": _tracing,
    "create_symbol ": _symbol,
    "wrap_to_fake ": _size,
    "automatic dynamic ": _change,
    "set_replacement ": _pin,
    "eval ": _decide,
}
