"""Automatic dynamic: what Dynamo makes a symbol by itself once it has seen a second size.

After `torch/_dynamo/pgo.py` (`FrameStateSizeEntry`, a join-semilattice) and
`torch/_dynamo/variables/builder.py` (`_automatic_dynamic`, `record_automatic_dynamic`, `wrap_symint`),
PyTorch 2.13. The state is updated at each compile only, not at calls that find a graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.compiles import Compile, Scalar, Tensor

VARIED = "?"
"""What a size, a stride or an int becomes in the state once it has had two values."""

Atom = int | str | None


class AutomaticDynamic:
    """The state for one code object.

    `never` are pairs that Dynamo does not make dynamic by itself: dims of parameters and buffers, ints on
    modules.
    """

    def __init__(self, never: Collection[SourceDim]) -> None:
        self._never = never
        self._sizes: dict[str, tuple[Atom, ...] | str] = {}
        self._strides: dict[str, tuple[Atom, ...] | str] = {}
        self._scalars: dict[str, str] = {}
        self.dynamic_strides: set[str] = set()
        """Tensors whose strides became symbols, their sizes having been the same each time."""

    def dynamic(self, call: Compile) -> set[SourceDim]:
        """Joins the call's inputs into the state; the pairs that are dynamic in its compile."""
        found = {
            SourceDim(source, dim)
            for source, tensor in call.tensors.items()
            for dim in self._join_tensor(source, tensor)
        }
        found.update(
            SourceDim(source, None)
            for source, scalar in call.scalars.items()
            if self._join_scalar(source, scalar)
        )
        return set() if call.dynamic == "false" else found - set(self._never)

    def _join_tensor(self, source: str, tensor: Tensor) -> Sequence[int]:
        stride = inferred_strides(tensor)
        known = self._sizes.get(source)
        if source in self._scalars or isinstance(known, str):
            # seen as a scalar, or with another rank: everything is dynamic from then on
            self._sizes[source] = VARIED
        elif known is None:
            self._sizes[source], self._strides[source] = tensor.size, stride
        elif len(known) != len(tensor.size):
            self._sizes[source] = VARIED
        else:
            self._sizes[source] = _join(known, tensor.size)
            self._strides[source] = _join(self._strides[source], stride)
        sizes = self._sizes[source]
        self.dynamic_strides.discard(source)
        if isinstance(sizes, str):
            return range(len(tensor.size))
        if VARIED in sizes:
            return [dim for dim, size in enumerate(sizes) if size == VARIED]
        if VARIED in self._strides[source]:
            self.dynamic_strides.add(source)
        return []

    def _join_scalar(self, source: str, scalar: Scalar) -> bool:
        known = self._scalars.setdefault(source, scalar.value)
        if known != scalar.value or source in self._sizes:
            self._scalars[source] = VARIED
        return self._scalars[source] == VARIED


@lru_cache(maxsize=65_536)
def inferred_strides(tensor: Tensor) -> tuple[Atom, ...]:
    """The strides, `S(m)` for one that is dim m's stride times its size (`InferStride`)."""
    order = sorted(
        (dim for dim, stride in enumerate(tensor.stride) if stride is not None),
        key=lambda dim: (tensor.stride[dim], -dim),
    )
    strides: list[Atom] = [None] * len(tensor.stride)
    candidates: dict[int, str] = {}
    for dim in order:
        stride, size = tensor.stride[dim], tensor.size[dim]
        if stride is None or size is None:
            continue
        strides[dim] = candidates.get(stride, stride)
        candidates.setdefault(stride * size, f"S({dim})")
    return tuple(strides)


def _join(known: Sequence[Atom], seen: Sequence[Atom]) -> tuple[Atom, ...]:
    return tuple(old if old == new else VARIED for old, new in zip(known, seen, strict=True))
