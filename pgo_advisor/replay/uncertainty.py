"""Why a prediction is a range: what the replay assumes and no recorded compile shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.frames import Call
from pgo_advisor.replay.guarding import Marked, is_contiguous, is_marked

if TYPE_CHECKING:
    from pgo_advisor.replay.predict import Graph, Predictor


def doubts(
    replay: Predictor,
    graphs: Sequence[Graph],
    marked: Marked,
    low: int,
    *,
    trusted: int,
    apart: int,
) -> Iterator[tuple[str, int | None]]:
    """Why the replay may be off, each with how many compiles more there may be in all; None: no bound."""
    avoided = max(0, len(replay.frame.calls) - low)
    if not replay.self_check:
        yield "replaying the recorded run does not give its recorded compiles", avoided
    if trusted:
        yield "sizes that would share a graph were never symbols together", trusted
    if apart:
        yield "of calls that would share a graph, one broke it and another did not", apart
    if fixed := len(
        {
            (number, pair)
            for number, graph in enumerate(graphs)
            for call in graph.calls[1:]
            for pair in call.symbolic
            if graph.fixes(pair, call)
        }
    ):
        yield (
            "a recorded graph took any value of what is a constant in the one in its place, "
            "and calls that compiled nothing are not recorded",
            fixed,
        )
    if any(call.outcome == "empty" for call in replay.frame.calls) and avoided:
        yield (
            "a call that compiled nothing may compile once its sizes are symbols",
            avoided + 1,
        )
    if any(pair in replay.varying and marked(*pair) for pair in replay.never):
        yield "parameters, buffers or ints of modules were never symbols in this run", avoided
    if padded := _padded_on_trust(replay.calls, graphs):
        yield "a graph of a padded tensor may refuse a contiguous one", padded
    if any(
        is_marked(name, call, marked)
        for call in replay.calls
        for group in call.duck_groups
        for name in group
    ) or any(
        marked(*pair) for call in replay.calls for group in call.pinned_groups for pair in group
    ):
        yield "sizes that shared a symbol by duck sizing are declared apart", avoided
    if strange := [pair for pair in replay.never_symbols if marked(*pair)]:
        declared = {pair.source for pair in replay.varying if marked(*pair)}
        beside = all(pair.source in declared for pair in strange)
        yield (
            "a size that never varied here is declared with its source, and was never a symbol",
            avoided if beside else None,
        )
    if any(call.partial for call in replay.frame.calls):
        yield "console text names only the first input that differed, others may vary", avoided
    if _aliases_vary(replay.calls):
        yield "a tensor that varies is recorded under another name only", max(1, avoided)
    if replay.after_break:
        yield "more calls may reach it, from a graph that breaks where another one does not", None
    if replay.after_limit:
        yield "more calls may reach it once the function before it hits no limit", None
    if any(call.outcome == "limit" for call in replay.frame.calls):
        yield "after the recompile limit was hit, nothing more was recorded", None


def _aliases_vary(calls: Sequence[Call]) -> bool:
    sizes: dict[str, set[tuple[int | None, ...]]] = {}
    for call in calls:
        for source, size in call.aliases.items():
            sizes.setdefault(source, set()).add(size)
    return any(len(found) > 1 for found in sizes.values())


def _padded_on_trust(calls: Sequence[Call], graphs: Sequence[Graph]) -> int:
    """How many contiguous calls share a graph of a padded tensor that was never compiled as one.

    Only a compile in which the same dims were symbols shows the guards: between constants they are settled.
    """
    shown: dict[str, list[set[SourceDim]]] = defaultdict(list)
    for call in calls:
        for source, tensor in call.tensors.items():
            if not is_contiguous(tensor):
                shown[source].append(call.symbolic)
    return sum(
        any(
            source in call.tensors
            and not is_contiguous(tensor)
            and is_contiguous(call.tensors[source])
            and not any(
                {pair for pair in graph.dynamic if pair.source == source} <= symbols
                for symbols in shown[source]
            )
            for source, tensor in graph.founder.tensors.items()
        )
        for graph in graphs
        for call in graph.calls[1:]
    )


def broken_apart(graphs: Sequence[Graph]) -> tuple[Call, ...]:
    """Calls that share a graph though their own broke elsewhere: at a symbol, or in another branch."""
    return tuple(
        call for graph in graphs for call in graph.calls[1:] if call.breaks != graph.founder.breaks
    )


def on_trust(replay: Predictor, graphs: Sequence[Graph]) -> tuple[Call, ...]:
    """Calls that share a graph though what varies among its calls was never symbolic at once."""
    trusted: list[Call] = []
    for graph in graphs:
        varying = {
            pair
            for pair in replay.varying
            if len({value for call in graph.calls if (value := call.value(pair)) is not None}) > 1
        }
        if not any(varying <= call.symbolic - call.pinned for call in graph.calls):
            trusted += graph.calls[1:]
    return tuple(trusted)
