"""Automatic dynamic against PyTorch's own implementation of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic, inferred_strides
from pgo_advisor.replay.compiles import Compile, Scalar, Tensor


def call(**inputs: Tensor | int) -> Compile:
    made = Compile(key=0, outcome="graph", seconds=0.0, dynamic="auto", path=None)
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            made.tensors[name] = value
        else:
            made.scalars[name] = Scalar("int", str(value))
    return made


def contiguous(*size: int) -> Tensor:
    stride = [1]
    for number in reversed(size[1:]):
        stride.insert(0, stride[0] * max(number, 1))
    return Tensor(size, tuple(stride[: len(size)]), False)


def test_a_dim_is_dynamic_from_its_second_size_on() -> None:
    state = AutomaticDynamic(never=())
    assert state.dynamic(call(x=contiguous(4, 3))) == set()
    assert state.dynamic(call(x=contiguous(5, 3))) == {SourceDim("x", 0)}
    assert state.dynamic(call(x=contiguous(4, 3))) == {SourceDim("x", 0)}
    assert state.dynamic(call(x=contiguous(4, 7))) == {SourceDim("x", 0), SourceDim("x", 1)}


def test_a_rank_change_makes_all_dims_dynamic() -> None:
    state = AutomaticDynamic(never=())
    state.dynamic(call(x=contiguous(4)))
    assert state.dynamic(call(x=contiguous(4, 5))) == {SourceDim("x", 0), SourceDim("x", 1)}
    assert state.dynamic(call(x=contiguous(4))) == {SourceDim("x", 0)}


def test_ints_and_what_never_is() -> None:
    state = AutomaticDynamic(never={SourceDim("m.step", None)})
    inputs = {"k": 1, "m.step": 1}
    assert state.dynamic(call(**inputs)) == set()
    assert state.dynamic(call(**{"k": 2, "m.step": 2})) == {SourceDim("k", None)}


def test_inferred_strides() -> None:
    assert inferred_strides(contiguous(2, 3, 4)) == ("S(1)", "S(2)", 1)
    assert inferred_strides(Tensor((3, 2), (1, 3), False)) == (1, "S(0)")
    assert inferred_strides(Tensor((4, 3), (6, 2), False)) == ("S(1)", 2)


shapes = st.lists(st.integers(0, 6), min_size=1, max_size=3)
layouts = st.tuples(shapes, st.booleans())


@pytest.mark.torch
@settings(deadline=None)
@given(st.lists(layouts, min_size=1, max_size=6))
@example([([2, 0], False), ([2, 0], True), ([0], False)])
def test_as_pytorch_does(sequence: Sequence[tuple[list[int], bool]]) -> None:
    torch = pytest.importorskip("torch")
    pgo = pytest.importorskip("torch._dynamo.pgo")
    state, entry = AutomaticDynamic(never=()), pgo.FrameStateSizeEntry()
    for shape, transposed in sequence:
        real = torch.empty(shape)
        if transposed:
            real = torch.empty(shape[::-1]).permute(*reversed(range(len(shape))))
        tensor = Tensor(tuple(real.shape), real.stride(), False)
        strides = tuple(
            pgo.InferStride(int(atom[2:-1])) if isinstance(atom, str) else atom
            for atom in inferred_strides(tensor)
        )
        entry |= pgo.FrameStateSizeEntry.make_tensor(tuple(real.shape), strides)
        sizes = {dim for dim in range(len(shape)) if entry.is_size_dynamic(dim)}
        assert state.dynamic(call(x=tensor)) == {SourceDim("x", dim) for dim in sizes}
        loose = any(entry.is_stride_dynamic(dim) for dim in range(len(shape)))
        assert ("x" in state.dynamic_strides) == loose
