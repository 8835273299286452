"""Objections that no declaration changes: guards on values, modes and marks, and PyTorch's own reasons."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.compiles import Compile, GuardFailure
from pgo_advisor.replay.graphs import Lookup, Objection


def reason(lookup: Lookup) -> Iterator[Objection]:
    """PyTorch itself said that a graph of these calls refused the call (`recompile_reasons`).

    What it said of sizes the other objections tell better: they are declared otherwise here.
    """
    compiled_for, refused_by = lookup.graph.compiled_for, lookup.call.refused_by
    for member in lookup.graph.compiles if refused_by else ():
        for refusal in refused_by.get(member.key, ()):
            if member is compiled_for or not _is_of_the_member(refusal, compiled_for):
                yield Objection("reason", refusal.pair, refusal.expected, refusal.actual)


def _is_of_the_member(refusal: GuardFailure, compiled_for: Compile) -> bool:
    """Whether a graph refused a call by a guard that the one in its place, of another call, has not."""
    if refusal.of_a_base:
        return not compiled_for.guards_a_base
    return refusal.cause is CauseKind.marking_changed


def structure(lookup: Lookup) -> Iterator[Objection]:
    """A guard that is not about sizes has another value (`GuardBuilder` in torch/_dynamo/guards.py).

    What is guarded on one side only does not object.
    """
    known = lookup.graph.compiled_for.structure
    for key, actual in lookup.call.structure.items():
        if (expected := known.get(key, actual)) != actual:
            kind, source = key
            yield Objection("structure", SourceDim(source), expected, actual, kind)


def mode(lookup: Lookup) -> Iterator[Objection]:
    """Another `torch.compile(dynamic=…)` is another backend object (BACKEND_MATCH)."""
    expected, actual = lookup.graph.compiled_for.dynamic, lookup.call.dynamic
    if expected != actual:
        yield Objection("mode", None, expected, actual)


def mark(lookup: Lookup) -> Iterator[Objection]:
    """A graph of an unmarked tensor does not take a marked one; the reverse it does.

    `TENSOR_MATCH` in torch/_dynamo/guards.py: `_dynamo_dynamic_indices` has to be a subset.
    """
    compiled_for, call = lookup.graph.compiled_for, lookup.call
    if new := call.marked - compiled_for.marked:
        for pair in sorted(new.intersection(compiled_for.pairs()), key=str):
            yield Objection("mark", pair)
    for source, marks in call.marks.items():
        if source in compiled_for.marks and not marks <= compiled_for.marks[source]:
            yield Objection("mark", SourceDim(source))
    if call.marked_unseen and not compiled_for.marked_unseen:
        yield Objection("mark")
