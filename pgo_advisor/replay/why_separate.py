"""What keeps a call from a graph of the replay, in words."""

from __future__ import annotations

from pgo_advisor.replay.frames import Call
from pgo_advisor.replay.guarding import Marked, failing_guard, strides_fit
from pgo_advisor.replay.predict import Graph, Prediction, Predictor


def kept_apart(replay: Predictor, prediction: Prediction, call: Call, marked: Marked) -> str | None:
    """Why a call that founds a graph is not taken by the one before it; None for the first."""
    earlier: Graph | None = None
    for graph in prediction.graphs:
        if graph.founder is call:
            return None if earlier is None else _objection(replay, earlier, call, marked)
        earlier = graph
    return None


def _objection(replay: Predictor, graph: Graph, call: Call, marked: Marked) -> str:
    founder = graph.founder
    if replay.structure_objects(graph, call):
        return "something differs that is no size"
    for pair in replay.varying:
        if not replay.same_or_dynamic(founder, call, pair, graph.dynamic):
            return f"{pair.words} is a constant there, {founder.value(pair)} and not {call.value(pair)}"
    if not strides_fit(founder, call, graph.dynamic, graph.loose):
        return "the tensors lie in memory in another way"
    if guard := failing_guard(founder, call, marked):
        return f"that graph requires {guard}"
    if decision := replay.parting_decision(founder, call, marked):
        return f"a decision comes out otherwise: {decision}"
    if other := sorted(founder.read ^ call.read):
        return (
            f"the code reads other inputs: {', '.join(other[:4])}{', …' if len(other) > 4 else ''}"
        )
    return "the code goes another way"
