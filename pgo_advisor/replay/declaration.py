"""What is declared dynamic, as the replay and the list take it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from pgo_advisor.dynamo.sources import SourceDim, declarable


@dataclass(frozen=True)
class Declaration:
    """Inputs that are declared dynamic before the first call.

    `by_dim`: whether single dims can be declared (2.13); else a tensor's dim stands for all of them.
    `unbacked` are those of `dims` that are declared for sizes 0 and 1, too
    (TORCH_COMPILE_UNBACKED_SOURCES).
    """

    dims: frozenset[SourceDim]
    by_dim: bool = True
    unbacked: frozenset[SourceDim] = frozenset()

    @classmethod
    def of(
        cls,
        dims: Iterable[SourceDim],
        *,
        by_dim: bool = True,
        unbacked: Iterable[SourceDim] = (),
    ) -> Declaration:
        """A declaration of `dims`, and of the `unbacked` ones."""
        small = frozenset(unbacked)
        return cls(small.union(dims), by_dim, small)

    def __contains__(self, pair: SourceDim) -> bool:
        return pair in self.dims if self.by_dim else pair.source in self._sources

    @cached_property
    def _sources(self) -> frozenset[str]:
        return frozenset(pair.source for pair in self.dims)

    def names(self, name: str) -> bool:
        """Whether it declares what a shape guard calls by this name."""
        pair = declarable(name)
        return pair is not None and pair in self

    def without(self, dims: Collection[SourceDim]) -> Declaration:
        return replace(self, dims=self.dims.difference(dims))

    def beside(self, dims: Collection[SourceDim]) -> Declaration:
        """The declaration with further dims."""
        return replace(self, dims=self.dims.union(dims))


NOTHING = Declaration(frozenset())
