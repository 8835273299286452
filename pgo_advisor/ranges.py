"""A number that may not be known exactly."""

from __future__ import annotations

from typing import NamedTuple


class Range(NamedTuple):
    """A number of compiles; `high` is None where nothing bounds it from above."""

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
