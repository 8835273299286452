"""Each objection on compiles made by hand: the graph of the first meets the inputs of the second."""

from __future__ import annotations

from typing import Any

import pytest

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import parse_relation
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.compiles import Compile, GuardFailure, Scalar, ShapeGuard, Tensor
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.frames import Frame
from pgo_advisor.replay.graphs import Graph, Lookup, Objection
from pgo_advisor.replay.objections import OBJECTIONS
from pgo_advisor.replay.observations import Observations

X = SourceDim("L['x']")
X0, X1 = (SourceDim("L['x']", dim) for dim in range(2))
SMALL = Tensor((4, 3), (3, 1), is_parameter=False)
LARGE = Tensor((6, 3), (3, 1), is_parameter=False)
PADDED = Tensor((4, 3), (8, 1), is_parameter=False)
FLAT = Tensor((4,), (1,), is_parameter=False)
ONE = Tensor((1, 3), (3, 1), is_parameter=False)


def compiled(key: int, x: Tensor = SMALL, **fields: Any) -> Compile:
    made = Compile(key, "graph", 1.0, "auto", None, tensors={"L['x']": x})
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def both(name: str, first: object, second: object) -> tuple[Compile, Compile]:
    """Two compiles that differ in one field."""
    made = compiled(0), compiled(1)
    for each, value in zip(made, (first, second), strict=True):
        setattr(each, name, value)
    return made


def guarded(text: str) -> list[ShapeGuard]:
    relation = parse_relation(text)
    assert relation is not None
    return [ShapeGuard(relation, duck=False)]


def raised(compiles: tuple[Compile, ...], dynamic: set[SourceDim]) -> list[Objection]:
    """Everything that is objected, in the order in which it is asked."""
    frame = Frame(0, 0, None, "f", "f.py", 1, frozenset(), False, [*compiles])
    graph = Graph([compiles[0]], frozenset(dynamic))
    lookup = Lookup(graph, compiles[1], Declaration.of(dynamic), Observations(frame), {})
    return [objection for ask in OBJECTIONS for objection in ask(lookup)]


CASES: dict[str, tuple[tuple[Compile, ...], set[SourceDim], Objection]] = {
    "reason": (
        both("refusals", [], [GuardFailure(0, CauseKind.dict_keys, SourceDim("L['d']"))]),
        set(),
        Objection("reason", SourceDim("L['d']")),
    ),
    "structure": (
        both("structure", {("ID_MATCH", "L['f']"): "7"}, {("ID_MATCH", "L['f']"): "9"}),
        set(),
        Objection("structure", SourceDim("L['f']"), "7", "9", "ID_MATCH"),
    ),
    "mode": (both("dynamic", "auto", "true"), set(), Objection("mode", None, "auto", "true")),
    "mark": (both("marked", set(), {X0}), {X0}, Objection("mark", X0)),
    "rank": ((compiled(0), compiled(1, FLAT)), {X0, X1}, Objection("rank", X, 2, 1)),
    "size": ((compiled(0), compiled(1, LARGE)), {X1}, Objection("size", X0, 4, 6)),
    "stride": ((compiled(0), compiled(1, PADDED)), set(), Objection("stride", X, (3, 1), (8, 1))),
    "guard": (
        (
            compiled(0, symbolic={X0}, installed=guarded("L['x'].size()[0] <= 5")),
            compiled(1, LARGE, symbolic={X0}),
        ),
        {X0},
        Objection("guard", guard="L['x'].size()[0] <= 5"),
    ),
    "decision": (
        (
            compiled(0),
            compiled(1, LARGE),
            # one with a symbol tells on which side of the branch the others are
            compiled(
                2,
                symbolic={X0},
                installed=guarded("L['x'].size()[0] <= 5"),
                decisions=[parse_relation("s77 <= 5")],
                symbols={"s77": "L['x'].size()[0]"},
            ),
        ),
        {X0},
        Objection("decision", guard="L['x'].size()[0] <= 5"),
    ),
    "inputs": (
        (compiled(0), compiled(1, tensors={"L['x']": SMALL, "L['y']": SMALL})),
        set(),
        Objection("inputs", sources=("L['y']",)),
    ),
    "path": (both("path", "one", "other"), set(), Objection("path")),
    "failed": (both("outcome", "failed", "graph"), set(), Objection("failed")),
}
"""The compiles of a frame, what is dynamic in the graph of the first, and what is objected to the second."""


@pytest.mark.parametrize("name", CASES)
def test_it_objects_and_nothing_else_does(name: str) -> None:
    compiles, dynamic, objection = CASES[name]
    assert raised(compiles, dynamic) == [objection]


def test_each_has_its_case() -> None:
    assert {ask.__name__ for ask in OBJECTIONS} == CASES.keys()
    assert all(ask.__doc__ for ask in OBJECTIONS)


def test_the_same_inputs_meet_no_objection() -> None:
    assert raised((compiled(0), compiled(1)), set()) == []


def test_a_symbol_takes_every_size_but_0_and_1() -> None:
    assert raised((compiled(0), compiled(1, LARGE)), {X0}) == []
    assert raised((compiled(0), compiled(1, ONE)), {X0}) == [Objection("size", X0, 4, 1)]


def test_a_size_that_is_a_number_in_a_guard_is_that_size() -> None:
    # torch.split(x, (4, k)): with k a constant its graph requires x to be 4 longer
    k = SourceDim("L['k']")
    nine, ten = (Tensor((size, 3), (3, 1), is_parameter=False) for size in (9, 10))
    guards = guarded("L['x'].size()[0] == 4 + L['n']")
    lengths = [{"L['k']": number, "L['n']": "5"} for number in ("4", "5")]
    first, second = (
        compiled(key, x, scalars={name: Scalar("int", text) for name, text in told.items()})
        for key, (x, told) in enumerate(zip((nine, ten), lengths, strict=True))
    )
    first.symbolic, first.installed = {X0, SourceDim("L['n']")}, guards
    assert raised((first, second), {X0, k}) == []
    assert [found.kind for found in raised((first, second), {X0})] == ["size", "guard"]


def test_what_no_record_shows_is_not_certain() -> None:
    # a contiguous tensor meets the graph of a padded one, which was compiled with constants only
    assert raised((compiled(0, PADDED), compiled(1)), {X0}) == [
        Objection("stride", X, (8, 1), (3, 1), certain=False)
    ]
    # from other symbols: they broke the graph elsewhere, or a branch did
    broken = compiled(1, LARGE, symbolic={X0}, breaks={("f.py", 3)})
    assert raised((compiled(0), broken), {X0}) == [Objection("path", certain=False)]
