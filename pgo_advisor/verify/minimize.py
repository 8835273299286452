"""The fewest of many items that have an effect together, in few trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def smallest(items: Sequence[T], has_effect: Callable[[Sequence[T]], bool]) -> list[T]:
    """A list of items that has the effect, and of which none can be left out; in the order of `items`.

    All items together must have it, and more items must never lose it. Of n items k are found in about
    k·log2(n/k) + 2k trials, by halving (QuickXplain: Junker, AAAI 2004). The empty list is tried first.
    """
    if not items or has_effect([]):
        return []
    found = _needed([], list(items), has_effect, changed=False)
    return [item for item in items if item in found]


def _needed(
    given: list[T], items: list[T], has_effect: Callable[[Sequence[T]], bool], *, changed: bool
) -> list[T]:
    """Which of the items are needed for the effect, besides those given."""
    if changed and has_effect(given):
        return []
    if len(items) == 1:
        return items
    half = len(items) // 2
    first, second = items[:half], items[half:]
    of_second = _needed(given + first, second, has_effect, changed=True)
    of_first = _needed(given + of_second, first, has_effect, changed=bool(of_second))
    return of_first + of_second
