"""Each regular expression of the package takes time in proportion to its text, whatever that is."""

from __future__ import annotations

import re
import signal
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attack_patterns import Attack, Used, attacks, used_patterns

_LENGTHS = [16, 64, 256, 1024, 4096]
_QUADRATIC, _CUBIC = 4**1.5, 4**2.5
"""What takes more than so many times as long for a text that is four times as long, is that."""
_NEVER = 5
"""Seconds of the processor until an attack that takes exponential time is given up."""


def seconds(used: Used, method: str, text: Any) -> float:
    """Of the processor, whatever else runs on it."""
    start = time.thread_time()
    if method in {"match", "fullmatch", "search"}:
        getattr(used.pattern, method)(text)
    else:
        deque(used.pattern.finditer(text), maxlen=0)
    return max(time.thread_time() - start, 1e-7)


def is_linear(used: Used, method: str, attack: Attack) -> bool:
    times: list[float] = []
    for length in _LENGTHS:
        text: Any = attack.text(max(1, length // len(attack.again)))
        if isinstance(used.pattern.pattern, bytes):
            text = text.encode("latin-1")
        times.append(seconds(used, method, text))
        if len(times) > 2 and times[-1] > _CUBIC**2 * times[-3]:
            return False
    # a bound that is passed makes one step, not two
    return times[-1] < _QUADRATIC * times[-2] or times[-2] < _QUADRATIC * times[-3]


@contextmanager
def given_up() -> Iterator[None]:
    def never(signum: int, frame: object) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGVTALRM, never)
    signal.setitimer(signal.ITIMER_VIRTUAL, _NEVER)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def slow_attack(used: Used) -> tuple[str, Attack] | None:
    for attack in attacks(used.pattern):
        for method in used.methods:
            try:
                with given_up():
                    linear = any(is_linear(used, method, attack) for _ in range(5))
            except TimeoutError:
                linear = False
            if not linear:
                return method, attack
    return None


@pytest.mark.parametrize("used", list(used_patterns()), ids=lambda used: used.where)
@pytest.mark.slow
def test_takes_linear_time(used: Used) -> None:
    assert slow_attack(used) is None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*([^,]+),", "match"),
        (r"a.*b", "search"),
        (r"\[([^\]]+)\]", "finditer"),
        (r"(.*) to (.*),.*", "fullmatch"),
        (r"(?:a+)+b", "match"),
        (r"x(\w{1,4000}?) y", "search"),
    ],
)
@pytest.mark.slow
def test_a_slow_pattern_is_found(pattern: str, method: str) -> None:
    assert slow_attack(Used("", re.compile(pattern), frozenset({method})))
