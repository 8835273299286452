"""Objections from what the code did: the inputs that it read, the way that it went, and its failure."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.replay.graphs import Lookup, Objection


def inputs(lookup: Lookup) -> Iterator[Objection]:
    """The code read other inputs: a decision that no guard here tells went another way."""
    compiled_for, call = lookup.graph.compiled_for, lookup.call
    if compiled_for.read != call.read and not (compiled_for.partial or call.partial):
        yield Objection("inputs", sources=tuple(sorted(compiled_for.read ^ call.read)))


def path(lookup: Lookup) -> Iterator[Objection]:
    """The code made another graph, or broke it elsewhere.

    From the same symbols that is another way through the code. From others a symbol may have broken it, or
    a branch: which of them is not certain.
    """
    compiled_for, call = lookup.graph.compiled_for, lookup.call
    broke = compiled_for.breaks != call.breaks
    differ = (
        compiled_for.path != call.path and compiled_for.path is not None and call.path is not None
    )
    if not (broke or differ):
        return
    varying = lookup.observed.varying.keys()
    alike = compiled_for.symbolic & varying == call.symbolic & varying
    if alike or broke:
        yield Objection("path", certain=alike)


def failed(lookup: Lookup) -> Iterator[Objection]:
    """A compile that failed, or that the recompile limit prevented, left no graph; it fails again."""
    if lookup.graph.compiled_for.outcome in {"failed", "limit"} or lookup.call.outcome == "failed":
        yield Objection("failed")
