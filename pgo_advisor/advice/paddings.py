"""Sizes to pad an input to, by how often each size came."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from pgo_advisor.report.calls import Padding

_GRAPHS = (1, 2, 3, 4, 8)
_MULTIPLES = (8, 16, 64)
_MAX_GRAPHS = 64


def paddings(calls: Mapping[int, int]) -> tuple[Padding, ...]:
    """The options for an input with these sizes, each with its calls; none for fewer than three sizes."""
    sizes = sorted(calls)
    if len(sizes) < 3 or sizes[0] < 2:
        return ()
    needed = sum(size * number for size, number in calls.items())
    options: dict[tuple[int, ...], int | None] = {}
    for chosen in _least(sizes, [calls[size] for size in sizes]):
        options[chosen] = None
    for multiple in _MULTIPLES:
        rounded = tuple(sorted({-(-size // multiple) * multiple for size in sizes}))
        if len(rounded) < min(len(sizes), _MAX_GRAPHS):
            options.setdefault(rounded, multiple)
    return tuple(
        Padding(multiple, chosen, round((_padded(calls, chosen) - needed) / needed, 4))
        for chosen, multiple in options.items()
    )


def _padded(calls: Mapping[int, int], chosen: tuple[int, ...]) -> int:
    return sum(min(c for c in chosen if c >= size) * number for size, number in calls.items())


def _least(sizes: list[int], calls: list[int]) -> list[tuple[int, ...]]:
    """For each number of graphs the sizes that pad least; exact, by dynamic programming.

    `best[j]` is the least that the first j sizes come to with so many graphs; the last graph takes the sizes
    from i to j. The best i grows with j, so it is looked for between those of its neighbours.
    """
    before = list(accumulate(calls, initial=0))
    size = len(sizes)
    best: list[int | None] = [0] + [None] * size
    choices: list[list[int]] = []
    found = []
    for graphs in range(1, min(max(_GRAPHS), size - 1) + 1):
        best, chosen = _with_one_more(sizes, before, best)
        choices.append(chosen)
        if graphs in _GRAPHS:
            ends, end = [], size
            for step in reversed(choices):
                ends.append(sizes[end - 1])
                end = step[end]
            found.append(tuple(reversed(ends)))
    return found


def _with_one_more(
    sizes: list[int], before: list[int], best: list[int | None]
) -> tuple[list[int | None], list[int]]:
    least: list[int | None] = [None] * len(best)
    chosen = [0] * len(best)
    spans = [(1, len(sizes), 0, len(sizes) - 1)]
    while spans:
        first, last, low, high = spans.pop()
        if first > last:
            continue
        middle = (first + last) // 2
        costs = (
            (known + sizes[middle - 1] * (before[middle] - before[start]), start)
            for start in range(low, min(high, middle - 1) + 1)
            if (known := best[start]) is not None
        )
        least[middle], chosen[middle] = min(costs, default=(None, low))
        spans.append((first, middle - 1, low, chosen[middle]))
        spans.append((middle + 1, last, chosen[middle], high))
    return least, chosen
