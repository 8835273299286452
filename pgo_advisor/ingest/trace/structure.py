"""What else than sizes the graphs of a frame are bound to: rows for the table guards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pgo_advisor.dynamo.guard_tree import GuardTree
from pgo_advisor.ingest.trace.collect import Compile

_NOT_NONE = {"TYPE_MATCH", "EQUALS_MATCH", "BOOL_MATCH"}


def differing_guards(compiles: list[Compile]) -> Iterable[dict[str, Any]]:
    """The guards whose value differs between compiles of one frame: only these can cause a recompile."""
    trees = {compile_.key: guards for compile_ in compiles if (guards := compile_.attempt.guards)}
    aliases = dict.fromkeys(pair for tree in trees.values() for pair in tree.aliases)
    values: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    for key, tree in trees.items():
        for kind, source, value in (*_distinct(tree, aliases), *_structure(tree)):
            values[kind, source][key] = value
    for (kind, source), by_compile in values.items():
        if len(set(by_compile.values())) > 1:
            for key, value in by_compile.items():
                yield {"compile": key, "kind": kind, "source": source, "value": value}


def _distinct(
    tree: GuardTree, aliases: Iterable[tuple[str, str]]
) -> Iterable[tuple[str, str, str]]:
    """Tensors that are guarded each for itself are no aliases of one another."""
    tensors = {tensor.source for tensor in tree.tensors}
    for first, second in aliases:
        if first in tensors and second in tensors:
            yield "ALIAS", f"{first} is {second}", "False"


def _structure(tree: GuardTree) -> Iterable[tuple[str, str, str]]:
    """Everything but sizes that the graph is bound to, as (kind, source, value)."""
    for leaf in tree.leaves:
        yield leaf
        if leaf.kind == "NONE_MATCH":
            yield "NONE", leaf.source, "None"
        elif leaf.kind in _NOT_NONE:
            yield "NONE", leaf.source, "not None"
    for both in tree.aliases:
        for source in both:
            yield "NONE", source, "not None"
    for tensor in tree.tensors:
        yield "TENSOR_MATCH", tensor.source, tensor.same
        yield "NONE", tensor.source, "not None"
        yield "VALUE", tensor.source, "tensor"
    for source, number in tree.numbers.items():
        yield "NONE", source, "not None"
        yield "VALUE", source, "int" if isinstance(number, int) else "float"
