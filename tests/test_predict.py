"""The replay on calls made by hand: what each kind of difference does to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import parse_relation
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.compiles import Compile, GuardFailure, Scalar, ShapeGuard, Tensor
from pgo_advisor.replay.decisions import installed_decisions
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.frames import Frame
from pgo_advisor.replay.observations import Observations
from pgo_advisor.replay.plan import choose
from pgo_advisor.replay.predict import Prediction, Predictor
from pgo_advisor.replay.uncertainty import DoubtKind
from pgo_advisor.report import Range

X0, X1 = (SourceDim("L['x']", dim) for dim in range(2))


def tensor(*size: int, stride: tuple[int, ...] | None = None, parameter: bool = False) -> Tensor:
    if stride is None:
        made = [1]
        for number in reversed(size[1:]):
            made.insert(0, made[0] * number)
        stride = tuple(made)
    return Tensor(size, stride, parameter)


def call(
    number: int,
    inputs: Mapping[str, Any],
    *,
    symbolic: set[SourceDim] | None = None,
    guards: tuple[str, ...] = (),
    **more: Any,
) -> Compile:
    made = Compile(number, "graph", 1.0, "auto", None, symbolic=symbolic or set())
    for source, value in inputs.items():
        if isinstance(value, Tensor):
            made.tensors[source] = value
        else:
            made.scalars[source] = Scalar("int", str(value))
    for text in guards:
        relation = parse_relation(text)
        assert relation is not None
        made.installed.append(ShapeGuard(relation, False))
    for name, value in more.items():
        setattr(made, name, value)
    return made


def frame(*compiles: Compile) -> Frame:
    return Frame(0, 0, None, "f", "f.py", 1, frozenset(), False, list(compiles))


def prediction_of(made: Frame, *pairs: SourceDim) -> Prediction:
    return Predictor(Observations(made)).predict(Declaration.of(pairs))


def predicted(made: Frame, *pairs: SourceDim) -> Range:
    return prediction_of(made, *pairs).compiles


def two_sizes(**more: Any) -> Frame:
    return frame(
        call(0, {"L['x']": tensor(4, 3)}),
        call(1, {"L['x']": tensor(5, 3)}, symbolic={X0}, **more),
    )


def test_a_declared_dim_takes_every_size() -> None:
    assert predicted(two_sizes()) == Range(2, 2)
    assert predicted(two_sizes(), X0) == Range(1, 1)


def test_the_wrong_dim_saves_nothing() -> None:
    assert predicted(two_sizes(), SourceDim("L['x']", 1)).low == 2


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_zero_and_one_have_graphs_of_their_own(size: int) -> None:
    made = frame(
        call(0, {"L['x']": tensor(4, 3)}),
        call(1, {"L['x']": tensor(size, 3, stride=(3, 1))}),
        call(2, {"L['x']": tensor(6, 3)}, symbolic={X0}),
    )
    assert predicted(made, X0) == Range(2, 2)


def test_structure_keeps_graphs_apart() -> None:
    made = two_sizes(structure={("EQUALS_MATCH", "L['mode']"): "b"})
    made.compiles[0].structure["EQUALS_MATCH", "L['mode']"] = "a"
    assert predicted(made, X0) == Range(2, 2)


def test_what_is_guarded_on_one_side_only_does_not() -> None:
    assert predicted(two_sizes(structure={("TYPE_MATCH", "L['mode']"): "b"}), X0) == Range(1, 1)


def test_a_branch_on_the_size_keeps_graphs_apart() -> None:
    made = frame(
        call(0, {"L['x']": tensor(7)}),
        call(1, {"L['x']": tensor(9)}, symbolic={X0}, guards=("2 <= L['x'].size()[0] <= 16",)),
        call(2, {"L['x']": tensor(20)}, symbolic={X0}, guards=("17 <= L['x'].size()[0]",)),
    )
    assert predicted(made) == Range(3, 3)
    assert predicted(made, X0) == Range(2, 2)


def test_a_marked_tensor_does_not_fit_a_graph_of_an_unmarked_one() -> None:
    made = two_sizes()
    made.compiles[1].marked.add(X0)
    assert predicted(made, X0).low == 2


def test_parameters_are_static_unless_declared() -> None:
    w = SourceDim("L['w']", 0)
    made = frame(*(call(n, {"L['w']": tensor(n + 2, parameter=True)}) for n in range(3)))
    assert predicted(made) == Range(3, 3)
    # they were never symbols, so nothing is claimed to be exact
    assert predicted(made, w) == Range(1, 3)


def test_transposed_and_contiguous_tensors_need_two_graphs() -> None:
    made = frame(
        call(0, {"L['x']": tensor(4, 3)}),
        call(1, {"L['x']": tensor(5, 3, stride=(1, 5))}, symbolic={X0}),
    )
    assert predicted(made, X0).low == 2


def test_an_int_that_the_code_pins() -> None:
    k = SourceDim("L['k']", None)
    made = frame(
        call(0, {"L['k']": 2}),
        call(1, {"L['k']": 3}, symbolic={k}, specialized={k}),
        call(2, {"L['k']": 4}, symbolic={k}, specialized={k}),
    )
    assert predicted(made, k) == Range(3, 3)
    assert choose([made], by_dim=True).pairs == ()


def test_sizes_that_were_never_symbols_together_are_a_range() -> None:
    y0 = SourceDim("L['y']", 0)
    made = frame(
        call(0, {"L['x']": tensor(4), "L['y']": tensor(7)}),
        call(1, {"L['x']": tensor(5), "L['y']": tensor(7)}, symbolic={X0}),
        call(2, {"L['x']": tensor(5), "L['y']": tensor(8)}, symbolic={y0}),
    )
    made.compiles[2].dynamic = made.compiles[1].dynamic = made.compiles[0].dynamic = "false"
    prediction = prediction_of(made, X0, y0)
    assert prediction.compiles == Range(1, 3)
    assert [doubt.kind for doubt in prediction.doubts] == [DoubtKind.never_together]


def test_the_limit_leaves_the_upper_end_open() -> None:
    made = two_sizes()
    made.compiles.append(Compile(2, "limit", 0.0, "auto", None))
    assert predicted(made, X0) == Range(1, None)


def test_a_recording_that_the_replay_does_not_explain_is_not_exact() -> None:
    same = {"L['x']": tensor(4)}
    made = frame(call(0, same), call(1, same))
    prediction = prediction_of(made, X0)
    assert DoubtKind.not_explained in {doubt.kind for doubt in prediction.doubts}
    assert prediction.compiles.low == 1


def test_what_no_declaration_reaches_stays_as_recorded() -> None:
    made = frame(call(0, {"L['x']": tensor(4)}), call(1, {"L['x']": tensor(4)}, outcome="limit"))
    assert predicted(made, SourceDim("L['y']", 0)) == Range(2, 2)
    assert predicted(made, X0).high is None


def test_entries_that_save_nothing_are_left_out() -> None:
    # y changes its size just when the mode does, which needs a graph of its own anyway
    made = frame(
        call(0, {"L['x']": tensor(4), "L['y']": tensor(7)}),
        call(1, {"L['x']": tensor(5), "L['y']": tensor(7)}, symbolic={X0}),
        call(2, {"L['x']": tensor(5), "L['y']": tensor(8)}, symbolic={X0, SourceDim("L['y']", 0)}),
    )
    for number, mode in enumerate("aab"):
        made.compiles[number].structure["EQUALS_MATCH", "L['mode']"] = mode
    assert choose([made], by_dim=True).pairs == (X0,)


def test_decisions_that_were_never_installed_are_told_apart() -> None:
    # x.split(2): a trial of fake tensors, then the decision that the graph is bound to
    made = call(
        0,
        {"L['x']": tensor(9)},
        symbolic={X0},
        guards=("((1 + L['x'].size()[0]) // 2) == 5", "8 <= L['x'].size()[0]"),
        symbols={"s77": "L['x'].size()[0]"},
        decisions=[
            parse_relation("Ne(s77 - ((s77 + 1)//2), 5)"),
            parse_relation("Eq(((s77 + 1)//2), 5)"),
            parse_relation("s77 - 8 >= 0"),
        ],
    )
    kept = [decision.text for decision in installed_decisions(made)]
    assert kept == ["Eq(((s77 + 1)//2), 5)", "s77 - 8 >= 0"]


@pytest.mark.parametrize(
    ("decision", "guards", "follows"),
    [
        # while tracing x.size(0) != 40 is decided, and nothing of it is installed, whatever the number
        ("Ne(s77, 40)", ("2 <= L['x'].size()[0]",), False),
        ("Ne(s77, 32)", ("2 <= L['x'].size()[0]",), False),
        ("Ne(s77, 4099)", ("2 <= L['x'].size()[0]",), False),
        ("Ne(s77, 4099)", ("2 <= L['x'].size()[0] <= 4098",), True),
        ("4 * s77 <= 3600", ("2 <= L['x'].size()[0]",), False),
        ("4 * s77 <= 3600", ("2 <= L['x'].size()[0] <= 900",), True),
        ("4 * s77 <= 3600", ("2 <= L['x'].size()[0] <= 901",), False),
        ("s77 < s53", ("L['y'].size()[0] >= 12",), False),
        ("s77 < s53", ("L['x'].size()[0] <= 11", "L['y'].size()[0] >= 12"), True),
        ("Ne(s53, 300 * s77)", ("2 <= L['x'].size()[0]",), False),
        # an int can be 0, a size that is a symbol cannot
        ("Ne(s1, 0)", (), False),
        ("Ne(s77, 0)", (), True),
    ],
)
def test_a_decision_follows_from_the_guards_or_was_not_installed(
    decision: str, guards: tuple[str, ...], follows: bool
) -> None:
    made = call(
        0,
        {"L['x']": tensor(9), "L['y']": tensor(13), "L['k']": 5},
        guards=guards,
        symbols={"s77": "L['x'].size()[0]", "s53": "L['y'].size()[0]", "s1": "L['k']"},
        decisions=[parse_relation(decision)],
    )
    assert bool(installed_decisions(made)) == follows


def duck(number: int, x: int, y: int, z: int) -> Compile:
    pairs = {SourceDim(f"L['{name}']", 0) for name in "xyz"}
    made = call(
        number,
        {"L['x']": tensor(x), "L['y']": tensor(y), "L['z']": tensor(z)},
        symbolic=pairs,
        dynamic="true",
    )
    if x == y == z:
        for name in "yz":
            relation = parse_relation(f"L['{name}'].size()[0] == L['x'].size()[0]")
            assert relation is not None
            made.installed.append(ShapeGuard(relation, True))
    return made


def test_what_duck_sizing_joined_is_declared_apart() -> None:
    made = frame(duck(0, 4, 4, 4), duck(1, 4, 5, 6))
    assert predicted(made).low == 2
    assert predicted(made, SourceDim("L['x']", 0), SourceDim("L['y']", 0)).low == 1


def test_what_is_not_declared_goes_on_sharing_a_symbol() -> None:
    # with x apart, y and z still have to be equal
    assert predicted(frame(duck(0, 4, 4, 4), duck(1, 4, 5, 6)), X0).low == 2
    assert predicted(frame(duck(0, 4, 4, 4), duck(1, 4, 5, 5)), X0).low == 1


def test_a_view_is_dynamic_only_with_its_base() -> None:
    view, base = SourceDim("L['t']", 0), SourceDim("L['t']._base", 0)
    guards = ("L['t']._base.size()[0] == L['t'].size()[0]",)
    made = frame(
        call(0, {"L['t']": tensor(4)}),
        call(1, {"L['t']": tensor(5)}, symbolic={view}, guards=guards),
    )
    assert predicted(made, view).low == 2
    assert predicted(made, view, base).low == 1
    assert choose([made], by_dim=True).pairs == (view, base)


def test_entries_stay_whose_absence_could_cost_calls_that_no_record_shows() -> None:
    # after the limit nothing is recorded: y varied before it, so it may vary again
    y0 = SourceDim("L['y']", 0)
    made = frame(
        call(0, {"L['x']": tensor(4), "L['y']": tensor(7)}),
        call(1, {"L['x']": tensor(5), "L['y']": tensor(7)}, symbolic={X0}),
        call(2, {"L['x']": tensor(5), "L['y']": tensor(8)}, symbolic={X0, y0}),
        Compile(3, "limit", 0.0, "auto", None),
    )
    for number, mode in enumerate("aab"):
        made.compiles[number].structure["EQUALS_MATCH", "L['mode']"] = mode
    assert set(choose([made], by_dim=True).pairs) == {X0, y0}


def test_a_constant_in_place_of_a_symbol_is_a_range() -> None:
    # x * scale: the graph of call 2 took any scale, the one in its place only 0.5; calls with another scale
    # that it took are not recorded (run under PyTorch 2.13: 2 compiles without such calls, 3 with one)
    made = frame(
        call(0, {"L['x']": tensor(4)}, structure={("GLOBAL_STATE", ""): "grad"}),
        call(1, {"L['x']": tensor(5)}, structure={("GLOBAL_STATE", ""): "no_grad"}),
        call(2, {"L['x']": tensor(6)}, structure={("GLOBAL_STATE", ""): "grad"}),
    )
    for made_call, scale in zip(made.compiles, ("0.5", "1.5", "0.5"), strict=True):
        made_call.scalars["L['scale']"] = Scalar("float", scale)
    made.compiles[1].symbolic = made.compiles[2].symbolic = {X0, SourceDim("L['scale']", None)}
    assert predicted(made) == Range(3, 3)
    assert predicted(made, X0) == Range(2, 3)


def test_a_mark_is_held_against_what_it_was_compiled_for() -> None:
    # a graph of a marked tensor takes unmarked ones, and marked ones thereafter, though a recorded graph of
    # an unmarked one between them refused these
    made = frame(
        call(0, {"L['x']": tensor(4)}, marked={X0}),
        call(1, {"L['x']": tensor(5)}, symbolic={X0}),
        call(2, {"L['x']": tensor(6)}, symbolic={X0}, marked={X0}),
    )
    made.compiles[2].refusals = [GuardFailure(1, CauseKind.marking_changed, None)]
    assert predicted(made, X0).low == 1


def test_a_guard_on_a_base_is_held_only_against_graphs_that_have_it() -> None:
    # x[:, :n]: the first base is static and not guarded, a later one is a symbol; a tensor that is no view
    # passes the former only
    def view(number: int, n: int, *guards: str) -> Compile:
        pairs = {X1} if number else set()
        inputs = {"L['x']": tensor(6, n, stride=(n + 3, 1))}
        return call(number, inputs, symbolic=pairs, guards=guards)

    on_base = "2 <= L['x']._base.size()[1]"
    whole = call(2, {"L['x']": tensor(6, 9)}, symbolic={X1})
    whole.refusals = [GuardFailure(1, CauseKind.none_value, None)]
    assert predicted(frame(view(0, 4), view(1, 5, on_base), whole), X1).low == 1
    assert predicted(frame(view(0, 4, on_base), view(1, 5, on_base), whole), X1).low == 2


def test_a_size_pinned_through_the_symbol_that_it_shared_is_declared_apart() -> None:
    # for row in y: pins y's size, and x's with it where both are 2
    y0 = SourceDim("L['y']", 0)
    made = frame(
        call(
            0, {"L['x']": tensor(2), "L['y']": tensor(2)}, symbolic={X0, y0}, specialized={X0, y0}
        ),
        call(1, {"L['x']": tensor(3), "L['y']": tensor(2)}, symbolic={X0, y0}, specialized={y0}),
        call(2, {"L['x']": tensor(3), "L['y']": tensor(4)}, symbolic={X0, y0}, specialized={y0}),
    )
    made.compiles[0].specialized_as = {"s77": {X0, y0}}
    for made_call in made.compiles:
        made_call.dynamic = "true"
    assert predicted(made) == Range(3, 3)
    assert predicted(made, X0).low == 2
    assert choose([made], by_dim=True).pairs == (X0,)


def test_a_base_whose_size_a_symbol_tells_is_compared() -> None:
    # y is a view of a base of size 4, as x is at first: one symbol by duck sizing
    made = frame(
        *(
            call(number, {"L['x']": tensor(size)}, symbolic={X0}, dynamic="true")
            for number, size in enumerate((4, 5))
        )
    )
    relation = parse_relation("L['x'].size()[0] == L['y']._base.size()[0]")
    assert relation is not None
    made.compiles[0].installed.append(ShapeGuard(relation, True))
    for made_call in made.compiles:
        made_call.values["L['y']._base.size()[0]"] = 4
    assert predicted(made) == Range(2, 2)
    assert predicted(made, X0).low == 1


def test_a_pair_stays_that_unites_calls_if_the_others_do_not_share_as_thought() -> None:
    # torch.arange(k) under dynamic=False: k = 0 and 1 get graphs of their own, which nothing recorded shows;
    # calls 2 and 3 then share one only if x is declared, too
    made = frame(
        *(
            call(k, {"L['x']": tensor(size), "L['k']": k}, dynamic="false")
            for k, size in enumerate((9, 7, 8, 9))
        )
    )
    made.compiles[1].marked = made.compiles[1].symbolic = {X0}
    assert set(choose([made], by_dim=True).pairs) == {X0, SourceDim("L['k']", None)}


def test_a_base_that_is_an_input_itself_is_declared_by_the_view() -> None:
    # a resume function gets x and t = x[:1]: x is recorded under the name of t's base (run under PyTorch
    # 2.13: a graph for each size with t declared, one in all with the base, too)
    made = frame(
        call(0, {"L['t']": tensor(1, 8)}, aliases={"L['x']": (2, 8)}, dynamic="false"),
        call(1, {"L['t']": tensor(1, 9)}, aliases={"L['x']": (2, 9)}, dynamic="false"),
    )
    t1, base1 = SourceDim("L['t']", 1), SourceDim("L['t']._base", 1)
    assert predicted(made, t1).low == 2
    assert choose([made], by_dim=True).pairs == (t1, base1)


def test_a_tensor_that_is_given_twice_has_no_base() -> None:
    made = two_sizes()
    for made_call in made.compiles:
        made_call.aliases["L['y']"] = made_call.tensors["L['x']"].size
    assert choose([made], by_dim=True).pairs == (X0,)


def test_a_refusal_tells_of_bases_whose_sizes_are_not_recorded() -> None:
    made = frame(
        call(0, {"L['x']": tensor(7)}, symbolic={X0}, dynamic="true"),
        call(1, {"L['x']": tensor(16)}, symbolic={X0}, dynamic="true"),
    )
    relation = parse_relation("L['y']._base.size()[0] == L['x'].size()[0]")
    assert relation is not None
    made.compiles[0].installed.append(ShapeGuard(relation, False))
    assert predicted(made, X0).low == 1
    made.compiles[1].refusals = [GuardFailure(0, CauseKind.equal_dims, X0)]
    assert predicted(made, X0) == Range(2, 2)


def test_what_a_recorded_graph_held_apart_is_declared_apart() -> None:
    # y and z are equal in both calls; the graph of call 1 does not need that, and may have taken others
    made = frame(duck(0, 4, 4, 4), duck(1, 5, 6, 6))
    assert choose([made], by_dim=True).pairs == (X0, SourceDim("L['z']", 0))
    assert DoubtKind.fixed in {doubt.kind for doubt in prediction_of(made, X0).doubts}


def test_a_size_that_a_base_was_joined_to_is_declared_though_it_never_varies() -> None:
    # z's size is that of y's base in call 0; the base has no name of its own to be declared by
    z0 = SourceDim("L['z']", 0)
    made = frame(
        call(0, {"L['z']": tensor(5)}, symbolic={z0}, dynamic="true"),
        call(1, {"L['z']": tensor(5)}, symbolic={z0}, dynamic="true"),
    )
    relation = parse_relation("L['z'].size()[0] == L['y']._base.size()[0]")
    assert relation is not None
    made.compiles[0].installed.append(ShapeGuard(relation, True))
    for made_call, size in zip(made.compiles, (5, 8), strict=True):
        made_call.values["L['y']._base.size()[0]"] = size
    assert predicted(made) == Range(2, 2)
    assert predicted(made, z0).low == 1
    assert choose([made], by_dim=True).pairs == (z0,)
