"""What TORCH_LOGS=dynamic, +dynamo and graph_breaks tell of a compile whose id stands before the line.

`update_automatic_dynamic` in torch/_dynamo/pgo.py, `wrap_to_fake_tensor_and_record` in variables/builder.py,
`ShapeEnv.create_symbol`, `_set_replacement` and `evaluate_expr` in torch/fx/experimental/symbolic_shapes.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pgo_advisor.ingest.console.lines import Line
from pgo_advisor.ingest.console.printed import Printed

_MOST = 100_000

_TRACING = re.compile(
    r"\Atorchdynamo start (?:tracing|compiling) (\S{1,1000}) (.{1,4000}):(\d{1,7})(?:,|$)"
)
_SYMBOL = re.compile(
    r"\Acreate_symbol (\w{1,64}) = (\S{1,64}) for ([^\n]{1,4000}?)"
    r"(?: (?:VR)?\[([^,\[\]]{1,40}), ([^\]]{1,40})\].*)?$",
    re.DOTALL,
)
_SIZES = re.compile(r"\Awrap_to_fake ([^\n]{1,4000}?) \(((?:\d[\d, ]{0,800})?)\) ")
_CHANGED = re.compile(
    r"\Aautomatic dynamic (?:(?:size )?(?P<tensor>.{1,4000}) size\((?P<dim>\d{1,3})\) "
    r"(?P<new>\d{1,19}) != (?P<old>\d{1,19})"
    r"|int (?P<int>.{1,4000}) val (?P<value>-?\d{1,19}) != (?P<before>-?\d{1,19}))$"
)
_PINNED = re.compile(r"\Aset_replacement (\w{1,64}) = (-?\d{1,19})(?: \((.{0,1000}?)\))?")
_GUARD_ADDED = " [guard added]"
_CONSTANT = re.compile(r"\AEq\((\w{1,64}), -?\d{1,19}\)\Z")
_PLACE = re.compile(r"\A ?(.{0,4000}?)  # ([^#\n]{1,300}?):(\d{1,7}) in \S")


def _tracing(compile_: Printed, text: str) -> None:
    if match := _TRACING.match(text):
        compile_.code = compile_.code or (match[1], match[2], int(match[3]))


def _symbol(compile_: Printed, text: str) -> None:
    if (match := _SYMBOL.match(text)) and len(compile_.symbols) < _MOST:
        compile_.symbols[match[1]] = (match[3], match[2], match[4], match[5])


def _size(compile_: Printed, text: str) -> None:
    if match := _SIZES.match(text):
        sizes = [size for size in match[2].split(",") if size.strip()]
        if all(size.strip().isdigit() and len(size) < 20 for size in sizes):
            compile_.sizes[match[1]] = tuple(map(int, sizes))


def _change(compile_: Printed, text: str) -> None:
    if match := _CHANGED.match(text):
        change: tuple[str, int | None, str, str]
        if match["int"]:
            change = (match["int"], None, match["value"], match["before"])
        else:
            change = (match["tensor"], int(match["dim"]), match["new"], match["old"])
        if change not in compile_.changed:
            compile_.changed.append(change)


def _pin(compile_: Printed, text: str) -> None:
    if match := _PINNED.match(text):
        compile_.pinned.append((match[1], match[2], match[3] or ""))


def _decide(compile_: Printed, text: str) -> None:
    guard, added, rest = text.removeprefix("eval ").partition(_GUARD_ADDED)
    if not added or not guard:
        return
    guard = guard.removeprefix("[guard suppressed] ")
    told = _PLACE.match(rest)
    place = (told[2], int(told[3]), told[1].strip()) if told else None
    compile_.decisions.append((guard, place))
    if place and (constant := _CONSTANT.match(guard)):
        compile_.places[constant[1]] = place


_DETAILS: dict[str, Callable[[Printed, str], None]] = {
    "torchdynamo start ": _tracing,
    "create_symbol ": _symbol,
    "wrap_to_fake ": _size,
    "automatic dynamic ": _change,
    "set_replacement ": _pin,
    "eval ": _decide,
}
_BREAKS = ("Graph break in user code", "Graph break (", "Graph break:")


def read_detail(line: Line, compile_: Callable[[], Printed]) -> bool:
    """Reads a line about a compile, which `compile_` gives; whether it is one."""
    for marker, read in _DETAILS.items():
        if (start := line.text.find(marker)) >= 0:
            read(compile_(), line.text[start:])
            return True
    if line.artifact != "graph_breaks" and not line.text.startswith("Graph break"):
        return False
    known = compile_()
    if line.text.lstrip().startswith(_BREAKS):
        known.breaks.append(line.text)
    elif known.breaks and len(known.breaks[-1]) < 4000:
        known.breaks[-1] += f"\n{line.text}"
    return True
