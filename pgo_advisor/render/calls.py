"""The calls that were counted, in sentences and rows for every rendering."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.render.text import count, duration
from pgo_advisor.report.calls import FunctionCalls, GraphCalls, Padding, SizeCalls

_MAX_SIZES = 12
_MAX_GRAPHS = 12


def sentences(told: FunctionCalls) -> Iterator[str]:
    """What the calls of a function show, the worst first; names are as they were recorded."""
    if told.eager:
        yield uncompiled(told)
    yield from map(_graph, told.graphs[:_MAX_GRAPHS])
    if (left := len(told.graphs) - _MAX_GRAPHS) > 0:
        yield f"and {count(left, 'graph')} more"
    for item in told.sizes:
        yield _sizes(item)
        if options := _paddings(item):
            yield f"padding {_name(item)}, with a mask where the code needs one: {options}"


def uncompiled(told: FunctionCalls) -> str:
    """How many calls of a function ran uncompiled, and when and where the first."""
    when = place = ""
    if told.eager_first is not None:
        when = f"{datetime.fromtimestamp(told.eager_first, timezone.utc):%H:%M:%S} UTC"
    if told.eager_place:
        place = f"called at {told.eager_place}"
    first = ", ".join(filter(None, (when, place)))
    return (
        f"{count(told.eager, 'call')} of {told.calls + told.eager} ran uncompiled "
        f"({told.eager_share:.0%})" + (f"; the first: {first}" if first else "")
    )


def all_uncompiled(calls: Sequence[FunctionCalls]) -> str:
    """How many calls of all these functions ran uncompiled; empty if none was seen."""
    eager = sum(told.eager for told in calls)
    whole = eager + sum(told.calls for told in calls)
    return (
        f"{eager} of {count(whole, 'call')} ran uncompiled ({eager / whole:.0%})" if eager else ""
    )


def pays(graph: GraphCalls) -> str:
    """Whether compiling the graph pays, as far as its calls tell."""
    if not graph.seconds_a_call:
        return ""
    long = f"{graph.compile_seconds / graph.seconds_a_call:,.0f} of its calls"
    return f"as long as {long}: it never pays in this run" if graph.never_pays else ""


def _graph(graph: GraphCalls) -> str:
    mean = graph.seconds_a_call
    took = "" if mean is None else f" of {brief(mean)} on average"
    return (
        f"graph {graph.compile_id}: {count(graph.calls, 'call')}{took}, "
        f"compiled in {duration(graph.compile_seconds)}"
        + (f", {told}" if (told := pays(graph)) else "")
    )


def brief(seconds: float) -> str:
    """A duration that may be less than a millisecond."""
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else duration(seconds)


def _name(item: SizeCalls) -> str:
    return SourceDim(item.source, item.dim).words


def _sizes(item: SizeCalls) -> str:
    often = sorted(item.sizes, key=lambda size: (-size[1], size[0]))
    shown = ", ".join(f"{size} ({calls})" for size, calls in often[:_MAX_SIZES])
    more = "" if len(often) <= _MAX_SIZES else f", and {len(often) - _MAX_SIZES} more sizes"
    unknown = f", unknown ({item.unlisted})" if item.unlisted else ""
    return f"sizes of {_name(item)}, with their calls: {shown}{more}{unknown}"


def _paddings(item: SizeCalls) -> str:
    return "; ".join(
        f"{count(len(option.sizes), 'graph')} ({padded_to(option)}) adds {option.padding:.0%}"
        for option in worthwhile(item)
    )


def worthwhile(item: SizeCalls) -> list[Padding]:
    """The options that at most double the elements."""
    return [option for option in item.paddings if option.padding <= 1]


def padded_to(option: Padding) -> str:
    """The sizes to pad to."""
    return (
        f"multiples of {option.multiple}" if option.multiple else " ".join(map(str, option.sizes))
    )
