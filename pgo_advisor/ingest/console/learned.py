"""What the texts of all compiles of a frame tell of the inputs and guards of each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pgo_advisor.dynamo.causes import Cause, CauseKind
from pgo_advisor.dynamo.guard_text import Unbalanced, whole_source
from pgo_advisor.dynamo.shape_guards import Relation, parse_relation
from pgo_advisor.dynamo.sources import declarable, whole_number
from pgo_advisor.ingest.console.numbering import PrintedFrame
from pgo_advisor.ingest.console.printed import Printed
from pgo_advisor.ingest.rows import Row, named_property

_MAX_DIMS = 64
_SIZE = re.compile(r"\d{1,18}")


@dataclass
class LearnedCompile:
    """What is known of the inputs of a compile, and of the guards of its graph."""

    printed: Printed | None
    sizes: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    ranks: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of ints and floats, kind and value."""
    symbolic: set[tuple[str, int | None]] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    guards: dict[str, str | None] = field(default_factory=dict)
    """Shape guards that refused a later call, each with the user's code that it comes from."""

    @property
    def known(self) -> set[str]:
        """The inputs of which anything is known."""
        return {*self.sizes, *self.numbers}


class LearnedFrame:
    """A frame with what the texts of all its compiles tell of each."""

    def __init__(self, told: PrintedFrame) -> None:
        self.told = told
        self.compiles = {
            number: LearnedCompile(printed) for number, printed in sorted(told.compiles.items())
        }
        for number, compile_ in self.compiles.items():
            if compile_.printed:
                self._learn_details(number, compile_, compile_.printed)
        for number, compile_ in self.compiles.items():
            for against, failure in told.failures.get(number, ()):
                graph = self.compiles.get(-1 if against is None else against)
                if failure.cause.source and (learn := _LEARN.get(failure.cause.kind)):
                    learn(compile_, graph, failure.cause)

    def _learn_details(self, number: int, compile_: LearnedCompile, printed: Printed) -> None:
        for source, size in printed.sizes.items():
            compile_.ranks[source] = len(size)
            compile_.sizes[source].update(enumerate(size[:_MAX_DIMS]))
            if "._parameters[" in source or "._buffers[" in source:
                compile_.parameters.add(source)
        earlier = [self.compiles[other] for other in self.compiles if other < number]
        for change in printed.changed:
            _learn_change(compile_, earlier, *change)
        for symbol, (name, value, _, _) in printed.symbols.items():
            _learn_symbol(compile_, named_property(name, symbol), value)

    def inputs(self, compile_: LearnedCompile) -> Iterator[Row]:
        """Rows of the table inputs: a size that is not known is None."""
        for source in sorted(compile_.sizes.keys() | compile_.ranks.keys()):
            sizes = compile_.sizes.get(source, {})
            dims = max(
                (dim for other in self.compiles.values() for dim in other.sizes.get(source, ())),
                default=-1,
            )
            rank = compile_.ranks.get(source, dims + 1)
            yield {
                "source": source,
                "kind": "tensor",
                "size": tuple(sizes.get(dim) for dim in range(rank)),
                "symbolic_dims": tuple(
                    dim for dim in range(rank) if (source, dim) in compile_.symbolic
                ),
                "marked_dims": (),
                "is_parameter": source in compile_.parameters,
            }
        for source, (kind, value) in compile_.numbers.items():
            # only the last one of a row of constants can have become a symbol
            symbolic = (source, None) in compile_.symbolic and (
                value.startswith("not ") or compile_.printed is not None
            )
            yield {"source": source, "kind": kind, "value": value, "symbolic": symbolic}


def _learn_change(
    compile_: LearnedCompile,
    earlier: list[LearnedCompile],
    source: str,
    dim: int | None,
    new: str,
    old: str,
) -> None:
    for one, value in [(compile_, new), *((other, old) for other in earlier)]:
        if dim is None:
            one.numbers.setdefault(source, ("int", value))
        elif dim < _MAX_DIMS:
            one.sizes[source].setdefault(dim, int(value))


def _learn_symbol(compile_: LearnedCompile, told: Row, value: str) -> None:
    source, dim = told["source"], told["dim"]
    if told["kind"] == "size" and dim < _MAX_DIMS and _SIZE.fullmatch(value):
        compile_.sizes[source].setdefault(dim, int(value))
        compile_.symbolic.add((source, dim))
    elif told["kind"] in {"int", "float"}:
        compile_.numbers[source] = (told["kind"], value)
        compile_.symbolic.add((source, None))


def _learn_size(compile_: LearnedCompile, graph: LearnedCompile | None, cause: Cause) -> None:
    if cause.source is None or cause.dim is None or cause.dim >= _MAX_DIMS:
        return
    for one, size in ((compile_, cause.actual), (graph, cause.expected)):
        if one is not None and size and _SIZE.fullmatch(size):
            one.sizes[cause.source][cause.dim] = int(size)
            if cause.on_parameter:
                one.parameters.add(cause.source)


def _learn_rank(compile_: LearnedCompile, graph: LearnedCompile | None, cause: Cause) -> None:
    for one, rank in ((compile_, cause.actual), (graph, cause.expected)):
        if one is not None and cause.source and (told := whole_number(rank or "")) is not None:
            one.ranks[cause.source] = min(told, _MAX_DIMS)


def _learn_number(compile_: LearnedCompile, graph: LearnedCompile | None, cause: Cause) -> None:
    if cause.source is None or not cause.expected:
        return
    kind = cause.kind.value.partition("-")[0]
    if graph is not None:
        graph.numbers[cause.source] = (kind, cause.expected)
    if cause.source not in compile_.numbers:
        # had it stayed a constant, a later compile would name it
        compile_.numbers[cause.source] = (kind, f"not {cause.expected}")
        compile_.symbolic.add((cause.source, None))


def _learn_relation(_: LearnedCompile, graph: LearnedCompile | None, cause: Cause) -> None:
    """A shape guard that refused the call: the graph has it, and its sizes are symbols there."""
    if graph is None or (relation := _canonical(cause.guard or "")) is None:
        return
    graph.guards[relation.text] = cause.user_line
    graph.symbolic.update(pair for name in relation.names if (pair := declarable(name)))


def _canonical(guard: str) -> Relation | None:
    """A guard with whole names: since 2.7 reasons have `x` for `L['x']`."""
    relation = parse_relation(guard)
    if relation is None:
        return None
    try:
        names = {name: whole_source(name) or name for name in relation.names}
    except Unbalanced:
        return None
    return parse_relation(relation.named(names))


_LEARN: dict[CauseKind, Callable[[LearnedCompile, LearnedCompile | None, Cause], None]] = {
    CauseKind.tensor_size: _learn_size,
    CauseKind.tensor_rank: _learn_rank,
    CauseKind.int_value: _learn_number,
    CauseKind.float_value: _learn_number,
    CauseKind.zero_one: _learn_relation,
    CauseKind.symbolic_range: _learn_relation,
    CauseKind.equal_dims: _learn_relation,
    CauseKind.divisibility: _learn_relation,
    CauseKind.symbolic_relation: _learn_relation,
}
