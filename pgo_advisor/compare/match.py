"""Which functions of two recordings are the same, and which of their recompiles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from pgo_advisor.compare.functions import Again, Function

Key = Callable[[Function], Hashable]
Item = TypeVar("Item")


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


_KEYS: tuple[Key, ...] = (
    lambda function: (function.file, function.name),
    lambda function: (_base(function.file), function.name),
    lambda function: function.name,
)
"""What two functions have in common, the surest first: the file may have been moved."""
_MAX_COMPARED = 250_000
"""Pairs of functions with one name; of more, those go together that stand in the same order."""


def pairs(
    before: Sequence[Function], after: Sequence[Function]
) -> Iterator[tuple[Function | None, Function | None]]:
    """Each function with its like in the other recording, or None: in the order of `after`, then the rest.

    Of several with one name those go together that have more inputs and callers in common, then those that
    stand in the same order.
    """
    left, right = list(range(len(before))), list(range(len(after)))
    found: dict[int, int] = {}
    for key in _KEYS:
        groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for index in left:
            groups[key(before[index])][0].append(index)
        for index in right:
            groups[key(after[index])][1].append(index)
        for olds, news in groups.values():
            found.update(_closest(before, after, olds, news))
        taken = set(found.values())
        left = [index for index in left if index not in taken]
        right = [index for index in right if index not in found]
    for index, function in enumerate(after):
        yield before[found[index]] if index in found else None, function
    for index in left:
        yield before[index], None


def _closest(
    before: Sequence[Function], after: Sequence[Function], olds: list[int], news: list[int]
) -> Iterator[tuple[int, int]]:
    """Indexes of functions that go together, of `after` and of `before`."""
    olds.sort(key=lambda index: before[index].line)
    news.sort(key=lambda index: after[index].line)
    if len(olds) * len(news) > _MAX_COMPARED:
        yield from zip(news, olds, strict=False)
        return
    likely = sorted(
        (-_alike(before[old], after[new]), abs(i - j), i, j, old, new)
        for i, old in enumerate(olds)
        for j, new in enumerate(news)
        if len({before[old].qualified, after[new].qualified} - {None}) < 2
    )
    used: set[tuple[str, int]] = set()
    for *_, old, new in likely:
        if used.isdisjoint({("old", old), ("new", new)}):
            used |= {("old", old), ("new", new)}
            yield new, old


def _alike(old: Function, new: Function) -> float:
    both = old.traits | new.traits
    return len(old.traits & new.traits) / len(both) if both else 0.0


def unmatched(before: Sequence[Again], after: Sequence[Again]) -> tuple[list[Again], list[Again]]:
    """The recompiles of a function that went, and those that came: the later ones of each signature."""
    return _beyond(before, after), _beyond(after, before)


def _beyond(items: Sequence[Again], others: Sequence[Again]) -> list[Again]:
    room = Counter(item.signature for item in others)
    left = []
    for item in items:
        if room[item.signature] > 0:
            room[item.signature] -= 1
        else:
            left.append(item)
    return left
