"""A compile as far as text tells of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

Process = tuple[int | None, str | None]
"""Rank and process id."""
Code = tuple[str, str | None, int | None]
"""A function's name, its file and its first line."""


class Pin(NamedTuple):
    """A size or number that the code made a constant: its name, as `L['x'].size()[0]`, and the value."""

    name: str
    value: str


Place = tuple[str, int, str]
"""A file, a line and the code on it."""


@dataclass
class Printed:
    """A compile as far as text tells of it."""

    process: Process
    ids: str | None
    generation: int = 0
    code: Code | None = None
    reasons: list[str] = field(default_factory=list)
    graphs: list[int | None] = field(default_factory=list)
    """For each reason, of which earlier graph it is, from the last used; None where no heading says."""
    stack: bool = False
    """Whether the lines that follow are the stack of its last reason."""
    time: str | None = None
    limit: tuple[str, int | None] | None = None
    """The limit that it ran into, as `recompile_limit`, and its value."""
    error: tuple[str, str] | None = None
    """The exception that ended it: class and text."""
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Whole sizes of tensors, from +dynamo."""
    changed: list[tuple[str, int | None, str, str]] = field(default_factory=list)
    """What automatic dynamic saw change: source, dim or None for an int, new, old."""
    symbols: dict[str, tuple[str, str, str | None, str | None]] = field(default_factory=dict)
    """By name of the symbol: what it stands for, its value and its bounds."""
    pinned: list[tuple[str, str, str]] = field(default_factory=list)
    """Symbols that became a constant: symbol, value, PyTorch's word for why."""
    places: dict[str, Place] = field(default_factory=dict)
    """The user's line that pinned a symbol or a size, by its name."""
    violated: list[Pin] = field(default_factory=list)
    """What was marked and is pinned, from a ConstraintViolationError."""
    decisions: list[tuple[str, Place | None]] = field(default_factory=list)
    """Relations between symbols that the code decided by, with the user's line."""
    breaks: list[str] = field(default_factory=list)
    _repeated: bool = False

    @property
    def refusing(self) -> int:
        """How many earlier graphs its reasons are of: one each, but where headings tell several of one."""
        return len({place if graph is None else graph for place, graph in enumerate(self.graphs)})

    def add(self, reason: str, graph: int | None = None) -> None:
        """Adds a reason. One that a repeated message tells again is known already."""
        named = reason.partition(": ")[0].replace("/", "").isdigit()
        if not ((self._repeated or named) and reason in self.reasons):
            self.reasons.append(reason)
            self.graphs.append(graph)

    def again(self) -> None:
        """A message on it begins: if one was read before, it tells the same once more."""
        self._repeated = bool(self.reasons)
