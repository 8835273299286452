"""What the parts of the report are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby
from typing import ClassVar, NamedTuple

from msgspec import Struct


class Part(Struct, frozen=True):
    """A part of the report."""

    hidden: ClassVar[frozenset[str]] = frozenset()
    """Fields that are not in the JSON: what leads back to the tables."""


class Code(str, Enum):
    """Values that a report names."""

    @property
    def words(self) -> str:
        """The value for a reader."""
        return str(self.value).replace("-", " ")


class Range(NamedTuple):
    """A number of compiles that may not be known exactly; `high` is null where nothing bounds it."""

    low: int
    high: int | None

    def __add__(self, other: object) -> Range:
        if not isinstance(other, Range):
            return NotImplemented
        high = None if self.high is None or other.high is None else self.high + other.high
        return Range(self.low + other.low, high)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def __str__(self) -> str:
        """`1`, `1 to 4`, `1 or more`."""
        if self.exact:
            return str(self.low)
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"


def listed(names: Sequence[str], most: int, more: str) -> str:
    """The first names, and if there are others `more`, with their number for its `{}`."""
    rest = more.format(len(names) - most) if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def runs_in_words(numbers: Sequence[int], noun: str = "", most: int = 0) -> str:
    """`0 to 6, 9`; with the noun, `ranks 0 to 6, 9`. What goes beyond `most` characters is `…`, if given."""
    words = ""
    for first, last in _runs(numbers):
        run = str(first) if first == last else f"{first} to {last}"
        if most and len(words) + len(run) > most and words:
            words += ", …"
            break
        words += f", {run}" if words else run
    return f"{noun}{'' if len(numbers) == 1 else 's'} {words}" if noun and words else words


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Numbers in order as first and last of each run without a gap."""
    for _, run in groupby(enumerate(numbers), key=lambda place: place[1] - place[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]
