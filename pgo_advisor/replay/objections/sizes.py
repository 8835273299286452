"""Objections of the guards on a tensor's rank, sizes and strides, and on numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.automatic_dynamic import inferred_strides
from pgo_advisor.replay.compiles import Compile, Tensor, stays_constant
from pgo_advisor.replay.graphs import Graph, Lookup, Objection


def rank(lookup: Lookup) -> Iterator[Objection]:
    """A tensor has another number of dims (`TensorCheck::check` in torch/csrc/dynamo/guards.cpp)."""
    for source, tensor, other in _tensors(lookup.graph.compiled_for, lookup.call):
        if len(tensor.size) != len(other.size):
            yield Objection("rank", SourceDim(source), len(tensor.size), len(other.size))


def _tensors(compiled_for: Compile, call: Compile) -> Iterator[tuple[str, Tensor, Tensor]]:
    for source, tensor in compiled_for.tensors.items():
        if (other := call.tensors.get(source)) is not None:
            yield source, tensor, other


def size(lookup: Lookup) -> Iterator[Objection]:
    """A constant size or number has another value, or a symbol would be 0 or 1.

    `TensorCheck::check` in guards.cpp; 0 and 1 by `specialize_zero_one` in
    torch/fx/experimental/symbolic_shapes.py, not for numbers nor for what is unbacked.
    """
    compiled_for, call, dynamic = lookup.graph.compiled_for, lookup.call, lookup.graph.dynamic
    unbacked = lookup.declaration.unbacked
    for pair in lookup.observed.varying:
        expected, actual = compiled_for.value(pair), call.value(pair)
        if expected == actual or expected is None or actual is None:
            continue
        if pair not in dynamic or (stays_constant(pair, actual) and pair not in unbacked):
            yield Objection("size", pair, expected, actual)


def stride(lookup: Lookup) -> Iterator[Objection]:
    """A tensor lies in memory in another way, as far as its graph checks that.

    `TensorCheck::check` for constants. With a dim that is a symbol the strides are symbols, too
    (`_compute_symbolic_stride` in symbolic_shapes.py): those that follow from sizes have to, and a
    contiguous tensor is guarded. That a padded one is not guarded is shown by a compile in which the same
    dims were symbols: between constants the question is settled.
    """
    compiled_for, call, graph = lookup.graph.compiled_for, lookup.call, lookup.graph
    for source, tensor, other in _tensors(compiled_for, call):
        if tensor == other or len(tensor.size) != len(other.size):
            continue
        if not _lies_alike(tensor, other, symbolic=_has_symbols(graph, source)):
            yield Objection("stride", SourceDim(source), tensor.stride, other.stride)
        elif (
            other.is_contiguous
            and not tensor.is_contiguous
            and not _is_shown(lookup.observed.compiled_padded[source], graph.dynamic, source)
        ):
            yield Objection("stride", SourceDim(source), tensor.stride, other.stride, certain=False)


def _has_symbols(graph: Graph, source: str) -> bool:
    return source in graph.dynamic_strides or any(pair.source == source for pair in graph.dynamic)


def _is_shown(
    compiled: Collection[set[SourceDim]], dynamic: frozenset[SourceDim], source: str
) -> bool:
    symbols = {pair for pair in dynamic if pair.source == source}
    return any(symbols <= shown for shown in compiled)


def _lies_alike(tensor: Tensor, other: Tensor, *, symbolic: bool) -> bool:
    if not symbolic:
        return tensor.stride == other.stride
    return _offset_fits(tensor, other) and _strides_follow(tensor, other)


def _offset_fits(tensor: Tensor, other: Tensor) -> bool:
    """An offset of 0 or 1 is a constant that no graph checks; a larger one is a symbol and takes neither."""
    if tensor.offset is None or other.offset is None:
        return True
    return tensor.offset < 2 or other.offset >= 2


def _strides_follow(tensor: Tensor, other: Tensor) -> bool:
    if tensor.size == other.size and tensor.stride == other.stride:
        return True
    for dim, atom in enumerate(inferred_strides(tensor)):
        if isinstance(atom, str):
            if not _is_product(other, dim, int(atom[2:-1])):
                return False
        elif other.stride[dim] != atom and (atom in (0, 1) or other.stride[dim] in (0, 1)):
            return False
    # strides of a contiguous tensor are guarded, those of a padded one are symbols of their own
    return other.is_contiguous or not tensor.is_contiguous


def _is_product(tensor: Tensor, dim: int, of: int) -> bool:
    """Whether a dim's stride is another dim's stride times its size, as far as they are known."""
    size, inner, stride = tensor.size[of], tensor.stride[of], tensor.stride[dim]
    return size is None or inner is None or stride is None or stride == size * inner
