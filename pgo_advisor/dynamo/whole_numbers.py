"""Whole numbers in recorded text."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\s*([0-9]{1,18})\s*")


def whole_number(text: str) -> int | None:
    """The number that a text is; None if it is none, or more than any size (a size has 63 bits)."""
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else None
