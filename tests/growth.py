"""Whether work grows with its input as it should, whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable

_ATTEMPTS = 5


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether four times the input takes less than eight times the processor time; quadratic work takes 16.

    `work(size)` should take some milliseconds. The least of some attempts counts.
    """
    small = large = float("inf")
    for _ in range(_ATTEMPTS):
        small = min(small, _seconds(work, size))
        large = min(large, _seconds(work, 4 * size))
        if large < 8 * small:
            return True
    return False


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.process_time()
    work(size)
    return time.process_time() - start
