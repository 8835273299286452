"""The pytest plugin: marks that limit compiles, and the fixture `compiles`.

pytest loads it in every run of an environment that has pgo-advisor, so that it imports nothing else before a
test uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pgo_advisor.testing.expect import Limits, Seen

_MARKS = {
    "max_compiles(n, function='*', reset=False)": "fail if the test compiles more than n times, in all or "
    "of the functions that the pattern names; reset: forget what was compiled before",
    "max_recompiles(n, function='*', reset=False)": "the same for recompiles",
    "no_recompiles(function='*', reset=False)": "the same for any recompile",
}
_RESET = "pgo_advisor_reset"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the setting."""
    parser.addini(
        _RESET, "torch._dynamo.reset() before each test that limits compiles", "bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Names the marks."""
    for mark, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Records a marked test, within what pytest does around it. One that fails by itself is not checked."""
    marks = [
        mark
        for name in ("max_compiles", "max_recompiles", "no_recompiles")
        for mark in _closest(item, name)
    ]
    if not marks:
        yield
        return
    from pgo_advisor.run.in_process import recording
    from pgo_advisor.testing.expect import Seen

    limits = [_limits(mark) for mark in marks]
    reset = item.config.getini(_RESET) or any(mark.kwargs.get("reset") for mark in marks)
    with recording(reset=bool(reset)) as run:
        outcome = yield
    if outcome.excinfo is None:
        for limit in limits:
            seen = limit.seen_in(run.analysis) if run.analysis else Seen()
            if broken := limit.broken_by(seen):
                outcome.force_exception(pytest.fail.Exception(broken, pytrace=False))
                return


def _closest(item: pytest.Item, name: str) -> list[pytest.Mark]:
    """Of the marks of a name for one function the one that is nearest to the test."""
    found: dict[str, pytest.Mark] = {}
    for mark in item.iter_markers(name):
        found.setdefault(mark.kwargs.get("function", "*"), mark)
    return list(found.values())


def _limits(mark: pytest.Mark) -> Limits:
    from pgo_advisor.testing.expect import Limits

    counted = mark.name != "no_recompiles"
    numbers = [number for number in mark.args if isinstance(number, int)]
    if (
        len(numbers) != counted
        or len(mark.args) != counted
        or set(mark.kwargs) - {"function", "reset"}
    ):
        usage = next(usage for usage in _MARKS if usage.startswith(mark.name))
        raise pytest.fail.Exception(f"write @pytest.mark.{usage}", pytrace=False)
    most = numbers[0] if counted else 0
    name = "max_compiles" if mark.name == "max_compiles" else "max_recompiles"
    return Limits(function=mark.kwargs.get("function", "*"), **{name: most})


@pytest.fixture
def compiles(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[Seen]]:
    """What limits a part of a test, as `pgo_advisor.expect` does."""
    from functools import partial

    from pgo_advisor.testing.expect import expect

    return partial(expect, reset=bool(request.config.getini(_RESET)))
