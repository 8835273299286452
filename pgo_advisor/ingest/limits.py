"""How much archives may unpack to, and how long tlparse may run."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30

TLPARSE_TIMEOUT = 1800.0
"""Seconds that tlparse may take for one log: it reads some 13 MB a second."""


@dataclass(frozen=True)
class Limits:
    """What the archives of one analysis may unpack to, together; nested ones count on every level.

    `members` counts all that has a header: files, directories, links, the streams of a gzip file. `ratio`
    bounds how many times larger than its file one archive may become, once that is more than 64 MiB: trace
    logs compress 10 to 60 times, the best bomb in gzip 1,032 times.
    """

    bytes: int = 8 * GIB
    members: int = 20_000
    ratio: int = 500

    @classmethod
    def of_gib(cls, gib: float) -> Limits:
        """Limits for so many GiB; the other two grow with them."""
        factor = max(1.0, gib * GIB / cls.bytes)
        return cls(int(gib * GIB), int(cls.members * factor), int(cls.ratio * factor))
