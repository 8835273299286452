"""Which compile of which frame a message is about, and which compiles the text leaves out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from pgo_advisor.dynamo.guard_failures import Failure, parse_failure
from pgo_advisor.ingest.console.joining import whole_guard
from pgo_advisor.ingest.console.printed import Code, Printed, Process

_MAX_IMPLIED = 256
_NUMBERED = re.compile(r"\A(.*)/(\d{1,9})")


@dataclass
class PrintedFrame:
    """A compiled code object of one process: its compiles by number, None for one that others imply."""

    process: Process
    generation: int
    name: str
    code: Code | None = None
    compiles: dict[int, Printed | None] = field(default_factory=dict)
    failures: dict[int, list[tuple[int | None, Failure]]] = field(default_factory=dict)
    """By compile, its reasons, each with the number of the compile whose graph refused."""

    def add(self, number: int, printed: Printed) -> None:
        """Takes a message in; a second one on the same compile adds what the first did not tell."""
        self.code = self.code or printed.code
        known = self.compiles.get(number)
        if known is None:
            self.compiles[number] = printed
            return
        known.limit = known.limit or printed.limit
        known.error = known.error or printed.error
        if not known.reasons:
            known.reasons, known.graphs = printed.reasons, printed.graphs

    @property
    def limit(self) -> int | None:
        """How many graphs the function can have had, if the text tells the limit that it hit."""
        told = [printed.limit for printed in self.compiles.values() if printed and printed.limit]
        return max((number for _, number in told if number), default=None)

    def finish(self) -> None:
        """Adds the compiles that must have been before, at most as many as the limit allows."""
        for number, printed in sorted(self.compiles.items()):
            if printed is not None:
                self.failures[number] = list(self._failures(number, printed))
        refused = {other for found in self.failures.values() for other, _ in found}
        graphs = [n for n, printed in self.compiles.items() if printed and not printed.limit]
        last = max(self.compiles)
        most = min(self.limit or _MAX_IMPLIED, _MAX_IMPLIED) - len(graphs)
        named = sorted(n for n in refused if n is not None and n not in self.compiles)
        for number in [*named, *range(min(last, _MAX_IMPLIED))]:
            if number not in self.compiles and most > 0:
                self.compiles[number] = None
                most -= 1

    def _failures(self, number: int, printed: Printed) -> Iterator[tuple[int | None, Failure]]:
        told = zip(printed.reasons, printed.graphs, strict=True)
        for position, (reason, graph) in enumerate(told):
            for part in _parts(reason):
                failure = parse_failure(part)
                if failure.against is not None:
                    prefix, _, other = failure.against.partition("_")[0].rpartition("/")
                    same = prefix == self.name or self.name.startswith("?")
                    yield int(other) if same else None, failure
                else:
                    # the graphs are asked in the order of their last use
                    other_number = number - 1 - (position if graph is None else graph)
                    yield other_number if other_number >= 0 else None, failure


def _parts(reason: str) -> list[str]:
    """The guards that `recompiles_verbose` names for one graph, parted by `; `."""
    if "; " not in reason:
        return [reason]
    against, _, rest = reason.partition(": ")
    prefix = f"{against}: " if _NUMBERED.fullmatch(against) else ""
    parts = (rest if prefix else reason).split("; ")
    # a comment may hold the separator, too
    return [prefix + part for part in parts] if all(map(whole_guard, parts)) else [reason]


def printed_frames(compiles: Iterable[Printed]) -> list[PrintedFrame]:
    """The frames of all processes, in the order in which the text comes to them."""
    frames: dict[tuple[Process, int, str], list[PrintedFrame]] = defaultdict(list)
    order: list[PrintedFrame] = []
    told: dict[object, tuple[str | None, int]] = {}
    for printed in _placed(list(compiles)):
        name, number = _number(printed)
        among = frames[printed.process, printed.generation, name]
        frame = next(
            (f for f in among if None in (f.code, printed.code) or f.code == printed.code), None
        )
        if frame is None:
            frame = PrintedFrame(printed.process, printed.generation, name)
            among.append(frame)
            order.append(frame)
        if number is None:
            number = _next(frame, printed, told)
        frame.add(number, printed)
    for frame in order:
        frame.finish()
    return order


def _next(frame: PrintedFrame, printed: Printed, told: dict[object, tuple[str | None, int]]) -> int:
    """The number of a compile by the place of its message, where nothing else tells it."""
    same = (
        printed.process,
        printed.code,
        tuple(printed.reasons),
        bool(printed.limit),
        printed.error,
    )
    if same in told:
        time, number = told[same]
        if None in (time, printed.time) or time == printed.time:
            return number  # told twice, as by pytest
    last = max(frame.compiles, default=0)
    limit = printed.limit[1] if printed.limit and "accumulated" not in printed.limit[0] else None
    if printed.limit and frame.compiles:
        number = max(last, limit or 0)
        frame.compiles = {
            other + number - last if other else other: known
            for other, known in frame.compiles.items()
        }
    elif printed.error:
        number = last
    else:
        number = max(last + 1, printed.refusing, limit or 0)
    told[same] = (printed.time, number)
    return number


def _number(printed: Printed) -> tuple[str, int | None]:
    """The frame's name and the compile's number, after its ids or those of the graphs that refused it."""
    if printed.ids and (match := _NUMBERED.fullmatch(printed.ids)):
        return match[1], int(match[2])
    earlier = [
        match
        for reason in printed.reasons
        if (against := parse_failure(reason).against)
        and (match := _NUMBERED.fullmatch(against.partition("_")[0]))
    ]
    if earlier:
        number = 1 + max(int(match[2]) for match in earlier)
        if printed.limit and printed.limit[1] and "accumulated" not in printed.limit[0]:
            number = max(number, printed.limit[1])
        return earlier[0][1], number
    return f"?{printed.code}", None


def _placed(compiles: list[Printed]) -> Iterator[Printed]:
    """Messages without a process id are of the only process that compiled their function, if there is one."""
    processes: dict[Code, set[tuple[Process, int]]] = defaultdict(set)
    for printed in compiles:
        if printed.process[1] is not None and printed.code:
            processes[printed.code].add((printed.process, printed.generation))
    for printed in compiles:
        found = processes.get(printed.code, ()) if printed.code else ()
        if printed.process == (None, None) and len(found) == 1:
            ((process, generation),) = found
            yield replace(printed, process=process, generation=generation)
        else:
            yield printed
