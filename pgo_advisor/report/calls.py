"""The calls of compiled functions, as `record --calls` counted them."""

from __future__ import annotations

from pgo_advisor.report.base import Part


class GraphCalls(Part, frozen=True):
    """The calls of one graph, over all processes of its log."""

    compile_id: str
    rank: int | None
    calls: int
    seconds_a_call: float | None
    """Mean host seconds of the calls that were timed, without guards; what a GPU does is not in it."""
    compile_seconds: float

    @property
    def never_pays(self) -> bool:
        """Whether compiling took more than ten times as long as all its calls.

        Then uncompiled calls would have to be eleven times as slow for it to pay in this run.
        """
        mean = self.seconds_a_call
        return bool(mean and self.compile_seconds > 10 * self.calls * mean)


class Padding(Part, frozen=True):
    """Sizes to pad an input to, so that as many graphs as there are sizes take all calls."""

    multiple: int | None
    """The sizes are the multiples of it that are needed; null for those that pad least."""
    sizes: tuple[int, ...]
    padding: float
    """Added elements by those that there were, over all calls."""


class SizeCalls(Part, frozen=True):
    """How often which size of an input came. An input is a dim of a tensor, or an int: then `dim` is null."""

    source: str
    dim: int | None
    sizes: tuple[tuple[int, int], ...]
    """Each size with its calls, by size."""
    unlisted: int
    """Calls of which no size is known."""
    paddings: tuple[Padding, ...]
    """Options; none where the code depends on the size, or where calls are unlisted."""


class FunctionCalls(Part, frozen=True):
    """The calls of a compiled function."""

    frame: str
    calls: int
    """Those that a graph took."""
    eager: int
    """Those that ran as the function is written, uncompiled, as far as they were seen."""
    eager_first: float | None
    """When the first of them came, seconds since 1970, UTC; null if not seen."""
    eager_place: str | None
    """Who made it, as file:line."""
    graphs: tuple[GraphCalls, ...]
    """In the order of their compiles."""
    sizes: tuple[SizeCalls, ...]
    """Of the inputs that came with several sizes."""

    @property
    def eager_share(self) -> float:
        """Uncompiled calls by all calls."""
        return self.eager / (self.calls + self.eager) if self.eager else 0.0
