"""A recorded compile, seen as the call of the function that brought it about, with its inputs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import Number, Relation
from pgo_advisor.dynamo.sources import (
    SourceDim,
    declarable,
    is_base,
    is_of_base,
    tensor_property,
    whole_number,
)
from pgo_advisor.report import UserLine


class Tensor(NamedTuple):
    """A tensor input; None for what is not known, as a size of a jagged tensor."""

    size: tuple[int | None, ...]
    stride: tuple[int | None, ...]
    is_parameter: bool
    offset: int | None = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether the strides are those of a dense tensor in the order of its dims."""
        expected = 1
        for size, stride in zip(reversed(self.size), reversed(self.stride), strict=True):
            if size is None or stride is None:
                return True
            if size != 1 and stride != expected:
                return False
            expected *= max(size, 1)
        return True


class Scalar(NamedTuple):
    """An int or float input; `value` is its text."""

    kind: str
    value: str


class ShapeGuard(NamedTuple):
    """A shape guard that a graph checks, and whether duck sizing alone made it."""

    relation: Relation
    duck: bool


SIZE_CAUSES = frozenset(
    {
        CauseKind.tensor_size,
        CauseKind.tensor_stride,
        CauseKind.int_value,
        CauseKind.float_value,
        CauseKind.zero_one,
        CauseKind.symbolic_range,
        CauseKind.equal_dims,
        CauseKind.divisibility,
        CauseKind.symbolic_relation,
        CauseKind.entry_deleted,
        CauseKind.recompile_limit,
        CauseKind.not_in_text,
        CauseKind.unknown,
    }
)
"""Causes that the replay decides by itself, from sizes and values, or that say nothing of the inputs."""


class GuardFailure(NamedTuple):
    """Why an earlier compile's graph did not take this call; `against` is that compile's key."""

    against: int | None
    cause: CauseKind
    pair: SourceDim | None
    expected: str | None = None
    actual: str | None = None
    """What the guard met, as PyTorch wrote it."""
    text: str | None = None
    user_code: str | None = None
    user_location: str | None = None

    @property
    def met(self) -> int | str | None:
        """The size that the guard met, or the int as text; None if it is no number."""
        size = whole_number(self.actual or "")
        return size if size is None or (self.pair and self.pair.dim is not None) else str(size)

    @property
    def of_a_base(self) -> bool:
        """Whether a guard on a view's base met a tensor that is no view: an exception that names no input."""
        return self.cause is CauseKind.none_value and self.pair is None


@dataclass(eq=False)
class Compile:
    """A recorded compile, seen as the call of the function that brought it about."""

    key: int
    outcome: str
    seconds: float
    dynamic: str
    """`torch.compile(dynamic=…)` as in force: auto, true or false."""
    path: str | None
    partial: bool = False
    """Recorded by console text: only what reasons name is known of its inputs."""
    breaks: set[tuple[str | None, int | None]] = field(default_factory=set)
    """Where it broke the graph, as file and line."""
    broken_at: dict[UserLine, str] = field(default_factory=dict)
    """The lines of the user's own code where it did, with PyTorch's reason."""
    failure: str | None = None
    """The exception that ended the compile, first line."""
    failed_at: UserLine | None = None
    called_at: UserLine | None = None
    tensors: dict[str, Tensor] = field(default_factory=dict)
    scalars: dict[str, Scalar] = field(default_factory=dict)
    symbolic: set[SourceDim] = field(default_factory=set)
    """What was a symbol when tracing began, specialized later or not."""
    marked: set[SourceDim] = field(default_factory=set)
    marks: dict[str, frozenset[tuple[str, int]]] = field(default_factory=dict)
    """All marks of a tensor, as (kind, dim), for those whose marks the graph guards on."""
    aliases: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    """Sizes of tensors that are recorded under another name; None for a symbol."""
    specialized: set[SourceDim] = field(default_factory=set)
    specialized_as: dict[str, set[SourceDim]] = field(default_factory=dict)
    """What was specialized, by its symbol: several if duck sizing had given them one symbol."""
    pinned_to: dict[SourceDim, str] = field(default_factory=dict)
    """The constants that it was specialized to."""
    pinned_at: dict[SourceDim, UserLine] = field(default_factory=dict)
    """Where the user's code specialized it, as far as that is recorded."""
    structure: dict[tuple[str, str], str] = field(default_factory=dict)
    """Guards that are not about sizes, by (kind, source)."""
    installed: list[ShapeGuard] = field(default_factory=list)
    decisions: list[Relation] = field(default_factory=list)
    """All decisions on symbols while tracing, in their order."""
    decided_at: list[tuple[Relation, UserLine]] = field(default_factory=list)
    """Those of the user's own code, with the line."""
    symbols: dict[str, str] = field(default_factory=dict)
    """What a symbol stands for, as `L['x'].size()[0]`."""
    values: dict[str, Number] = field(default_factory=dict)
    """Sizes and strides of views' bases, which no input tells, as far as they were symbols; by name."""
    refusals: list[GuardFailure] = field(default_factory=list)

    @property
    def free(self) -> set[SourceDim]:
        """What its graph takes any value of."""
        return self.symbolic - self.specialized

    @cached_property
    def duck_groups(self) -> list[frozenset[str]]:
        """Names of sizes that had one symbol since they had the same value, in groups."""
        groups: list[frozenset[str]] = []
        for relation, duck in self.installed:
            if duck:
                joined = relation.names.union(*(g for g in groups if g & relation.names))
                groups = [group for group in groups if not group & joined] + [joined]
        return groups

    @cached_property
    def read(self) -> frozenset[str]:
        """The inputs that the code read."""
        names = (*self.tensors, *self.scalars, *self.aliases)
        return frozenset(name for name in names if not is_base(name))

    @property
    def specialized_groups(self) -> list[set[SourceDim]]:
        """Dims that were specialized together since duck sizing had given them one symbol."""
        return [pairs for pairs in self.specialized_as.values() if len(pairs) > 1]

    @property
    def guards_a_base(self) -> bool:
        """Whether the graph has guards on the base of a view, which a tensor that is none does not pass."""
        return any(is_of_base(name) for relation, _ in self.installed for name in relation.names)

    @cached_property
    def refused_by(self) -> dict[int, list[GuardFailure]]:
        """PyTorch's reasons that are not about sizes, by the compile whose graph did not take the call."""
        found: dict[int, list[GuardFailure]] = {}
        for refusal in self.refusals:
            if refusal.against is not None and refusal.cause not in SIZE_CAUSES:
                found.setdefault(refusal.against, []).append(refusal)
        return found

    @property
    def marked_unseen(self) -> bool:
        """Whether a tensor had a mark that only a reason tells of, as maybe_mark_dynamic's."""
        return (
            not self.marks
            and not self.marked
            and any(refusal.cause is CauseKind.marking_changed for refusal in self.refusals)
        )

    def equal_pairs(self, pair: SourceDim) -> set[SourceDim]:
        """The dims that the graph requires to be equal to this one."""
        equalities: list[Collection[str]] = [*self.duck_groups]
        equalities += filter(None, (relation.equal_names() for relation, _ in self.installed))
        equal: set[SourceDim] = set()
        for names in equalities:
            members = {other for name in names if (other := declarable(name))}
            if pair in members:
                equal |= members
        return equal - {pair}

    def value(self, pair: SourceDim) -> int | str | None:
        """A size, or a scalar's text; None where the call has no such input."""
        if pair.dim is None:
            scalar = self.scalars.get(pair.source)
            return scalar.value if scalar else None
        tensor = self.tensors.get(pair.source)
        if tensor is None or pair.dim >= len(tensor.size):
            return None
        return tensor.size[pair.dim]

    def number(self, name: str) -> Number | None:
        """The value of what a shape guard names: a size, a stride, an int or a symbol."""
        name = self.symbols.get(name, name)
        if name in self.values:
            return self.values[name]
        if found := tensor_property(name):
            kind, (source, dim) = found
            tensor = self.tensors.get(source)
            values = (tensor.size if kind == "size" else tensor.stride) if tensor else ()
            return values[dim] if dim is not None and dim < len(values) else None
        if tensor := self.tensors.get(name.removesuffix(".storage_offset()")):
            return tensor.offset
        scalar = self.scalars.get(name)
        try:
            return None if scalar is None else int(scalar.value)
        except ValueError:
            return None

    def pairs(self) -> list[SourceDim]:
        """All dims of its tensors, and its ints: what can be declared."""
        dims = [
            SourceDim(source, dim)
            for source, tensor in self.tensors.items()
            for dim in range(len(tensor.size))
        ]
        return dims + [
            SourceDim(source) for source, scalar in self.scalars.items() if scalar.kind == "int"
        ]

    def inputs(self) -> list[SourceDim]:
        """All dims of its tensors, its ints, and its floats."""
        return list(dict.fromkeys([*self.pairs(), *map(SourceDim, self.scalars)]))


def stays_constant(pair: SourceDim, value: int | str | None) -> bool:
    """Whether a size is 0 or 1, which Dynamo makes no symbol (`specialize_zero_one`)."""
    return pair.dim is not None and value in (0, 1)
