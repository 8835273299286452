"""The graphs of the replay, and the question whether one takes a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pgo_advisor.dynamo.sources import SourceDim, declarable
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic
from pgo_advisor.replay.compiles import Compile, stays_constant
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.observations import Observations


class Objection(NamedTuple):
    """What keeps a call from a graph: one answer of one of the functions in `objections`.

    `kind` is that function's name, `pair` the input that it is about, `expected` and `actual` what the
    graph has and what the call has of it, `guard` the shape guard or decision, `sources` inputs that only
    one of the two reads; each as far as there is such a thing. One that is not `certain` is raised where
    no record shows whether PyTorch checks it: the call is taken, and may cost a compile.
    """

    kind: str
    pair: SourceDim | None = None
    expected: object = None
    actual: object = None
    guard: str | None = None
    sources: tuple[str, ...] = ()
    certain: bool = True


@dataclass
class Graph:
    """A graph of the replay: the call that it was compiled for first, then those that it took."""

    compiles: list[Compile]
    dynamic: frozenset[SourceDim]
    dynamic_strides: frozenset[str] = frozenset()
    """Tensors whose strides are symbols, though no size is."""
    duck_shaped: tuple[frozenset[SourceDim], ...] = ()
    """Sizes that share a symbol by duck sizing, in groups."""
    unsure: list[tuple[Compile, Objection]] = field(default_factory=list)
    """Calls that it took in spite of an objection that is not certain."""

    @property
    def compiled_for(self) -> Compile:
        return self.compiles[0]

    def fixes(self, pair: SourceDim, call: Compile) -> bool:
        """Whether it fixes an input, or joins it to others, that the call's recorded graph left free."""
        return (
            pair in call.symbolic
            and pair not in call.specialized
            and self.compiled_for.value(pair) not in (None, 0, 1)
            and (pair not in self.dynamic or self._joins(pair, call))
        )

    def _joins(self, pair: SourceDim, call: Compile) -> bool:
        return any(
            pair in group and group - {pair} - call.equal_pairs(pair) for group in self.duck_shaped
        )


class Lookup(NamedTuple):
    """A call meets a graph, as at Dynamo's cache lookup, with some inputs declared dynamic."""

    graph: Graph
    call: Compile
    declaration: Declaration
    observed: Observations
    failing: dict[tuple[int, int], int | None]
    """Which of a compile's decisions fails first for a call, as far as found in this replay."""


Objector = Callable[[Lookup], Iterator[Objection]]


def recorded_graph(call: Compile) -> Graph:
    """The graph that the recorded compile made."""
    return Graph([call], frozenset(call.free))


def compile_graph(
    call: Compile, automatic: AutomaticDynamic, declaration: Declaration, observed: Observations
) -> Graph:
    """The graph that is compiled for a call which no other one takes; joins the call into `automatic`."""
    automatically = automatic.dynamic(call) | call.marked
    automatically.update(
        pair for pair in observed.dynamic_from_start if call.value(pair) is not None
    )
    declared = {pair for pair in call.pairs() if pair in declaration}
    dynamic = (automatically | declared) - _shared(call, automatically - declared)
    dynamic -= _of_static_bases(declaration, observed) - automatically
    return Graph(
        [call],
        frozenset(
            pair
            for pair in dynamic - observed.specialized
            if pair in declaration.unbacked or not stays_constant(pair, call.value(pair))
        ),
        frozenset(automatic.dynamic_strides),
        tuple(_undeclared(group, declaration) for group in call.duck_groups),
    )


def _shared(call: Compile, dims: set[SourceDim]) -> set[SourceDim]:
    """Those of the dims that go on sharing a symbol, and are specialized with one another."""
    groups = (group & dims for group in call.specialized_groups)
    return set().union(*(group for group in groups if len(group) > 1))


def _of_static_bases(declaration: Declaration, observed: Observations) -> set[SourceDim]:
    """Dims of views that are as static as those of the bases that they are made from."""
    return {
        pair
        for pair, bases in observed.bases.items()
        if not all(base in declaration for base in bases)
    }


def _undeclared(group: Iterable[str], declaration: Declaration) -> frozenset[SourceDim]:
    dims = map(declarable, group)
    return frozenset(dim for dim in dims if dim and dim not in declaration)
