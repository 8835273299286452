"""Whether the guards of a recorded graph, other than those on structure, would let another call pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.shape_guards import Number, Relation
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.dynamo.whole_numbers import whole_number
from pgo_advisor.replay.automatic_dynamic import inferred_strides
from pgo_advisor.replay.frames import Call, Tensor, pair_of, pairs

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
        CauseKind.unknown,
    }
)
"""Causes that the replay decides by itself, from sizes and values, or that say nothing of the inputs."""

Marked = Callable[[str, int | None], bool]
"""Whether the advice makes a pair dynamic, as `(source, dim)`."""


def strides_fit(
    founder: Call, call: Call, dynamic: Collection[SourceDim], loose: Collection[str]
) -> bool:
    """Whether the memory layouts agree; of tensors with symbols as far as the graph checks it."""
    for source, tensor in founder.tensors.items():
        other = call.tensors.get(source)
        if other is None:
            continue
        if len(tensor.size) != len(other.size):
            return False
        symbolic = source in loose or any(
            SourceDim(source, dim) in dynamic for dim in range(len(tensor.size))
        )
        if symbolic and not _offset_fits(tensor, other):
            return False
        if tensor.size == other.size and tensor.stride == other.stride:
            continue
        if symbolic:
            if not _stride_follows(tensor, other):
                return False
        elif tensor.stride != other.stride:
            return False
    return True


def _offset_fits(tensor: Tensor, other: Tensor) -> bool:
    """An offset of 0 or 1 is a constant that no graph checks; a larger one is a symbol and takes neither."""
    if tensor.offset is None or other.offset is None:
        return True
    return tensor.offset < 2 or other.offset >= 2


def _stride_follows(tensor: Tensor, other: Tensor) -> bool:
    for dim, atom in enumerate(inferred_strides(tensor)):
        stride = other.stride[dim]
        if isinstance(atom, str):
            base = int(atom[2:-1])
            size, base_stride = other.size[base], other.stride[base]
            if None not in (size, base_stride, stride) and stride != size * base_stride:  # type: ignore[operator]
                return False
        elif (atom in (0, 1) and stride != atom) or (stride in (0, 1) and stride != atom):
            return False
    # strides of a contiguous tensor are guarded, those of a padded one are symbols of their own
    return is_contiguous(other) or not is_contiguous(tensor)


def is_contiguous(tensor: Tensor) -> bool:
    """Whether the strides are those of a dense tensor in the order of its dims."""
    expected = 1
    for size, stride in zip(reversed(tensor.size), reversed(tensor.stride), strict=True):
        if size is None or stride is None:
            return True
        if size != 1 and stride != expected:
            return False
        expected *= max(size, 1)
    return True


def is_about(
    relation: Relation,
    pairs: Collection[SourceDim],
    symbols: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Whether a relation speaks of one of these pairs, whose names may be given by symbols."""
    return bool(pairs) and any(pair_of(symbols.get(name, name)) in pairs for name in relation.names)


def failing_guard(
    founder: Call, call: Call, marked: Marked, unbacked: Collection[SourceDim] = ()
) -> str | None:
    """The shape guard of the founder's recorded graph that does not let the call pass; None if none does.

    Guards on the `unbacked` pairs are not looked at.

    Of sizes that are equal by duck sizing each that is declared gets a symbol of its own, the others go on
    sharing one. Of which of them another guard on their common symbol speaks is not recorded, so one that it
    fits is enough.
    """
    groups = [
        group
        for group in founder.duck_groups
        if any(is_marked(name, founder, marked) for name in group)
    ]
    for group in groups:
        undeclared = {call.number(name) for name in group if not is_marked(name, founder, marked)}
        if len(undeclared - {None}) > 1:
            return " == ".join(sorted(group))
    for relation, duck in founder.installed:
        shared = [group for group in groups if group & relation.names]
        if (shared and duck) or _is_stride_equality(relation) or is_about(relation, unbacked):
            continue
        values = {name: call.number(name) for name in relation.names}
        readings = [values] + [
            {**values, **dict.fromkeys(group & relation.names, call.number(member))}
            for group in shared
            for member in group
        ]
        known = [
            {name: value for name, value in reading.items() if value is not None}
            for reading in readings
        ]
        if all(relation.holds(reading) is False for reading in known) and all(
            other.holds(reading) is False
            for other in _with_symbols(relation, founder, call, marked)
            for reading in known
        ):
            return relation.text
        if None in values.values() and _refused_by(relation, founder, call):
            return relation.text
    return None


def _with_symbols(
    relation: Relation, founder: Call, call: Call, marked: Marked
) -> Iterator[Relation]:
    """What a guard may become for the call where a number in it was a size that is declared.

    In the recorded graph that size was a constant, so a number can be a multiple of it, or, in an equality, a
    sum with it.
    """
    declared: list[tuple[int, int]] = []
    for pair in pairs(founder):
        before, now = founder.value(pair), call.value(pair)
        if before != now and pair not in founder.symbolic and marked(*pair):
            old, new = (whole_number(str(value)) for value in (before, now))
            if old is not None and old > 1 and new is not None:
                declared.append((old, new))
    for each in declared:
        yield relation.with_numbers(partial(_in_proportion, *each))
    if declared and relation.is_equality():
        more = sum(new - old for old, new in declared)
        yield relation.with_numbers(lambda n: n + more)


def _in_proportion(old: int, new: int, number: Number) -> Number:
    return number // old * new if number % old == 0 else number


def _refused_by(relation: Relation, founder: Call, call: Call) -> bool:
    """Whether PyTorch said that the founder's graph did not take the call since these sizes were not equal.

    That tells of sizes which are not recorded: those of a view's base that were no symbols.
    """
    names = relation.equal_names()
    return names is not None and any(
        refusal.against == founder.compile
        and refusal.cause is CauseKind.equal_dims
        and refusal.pair in map(pair_of, names)
        for refusal in call.refusals
    )


def _is_stride_equality(relation: Relation) -> bool:
    """How strides follow from sizes, those that were static then as numbers: `strides_fit` knows better."""
    return " == " in relation.text and relation.is_about_strides()


def is_marked(name: str, call: Call, marked: Marked) -> bool:
    pair = pair_of(name)
    return pair is not None and marked(*pair)


def paths_agree(founder: Call, call: Call, varying: Collection[SourceDim]) -> bool:
    """Whether nothing tells that the code went another way: it read other inputs, or made another graph, or
    broke it elsewhere, from the same symbols."""
    if not (founder.partial or call.partial) and founder.read != call.read:
        return False
    known = founder.path is not None and call.path is not None
    if founder.breaks == call.breaks and (founder.path == call.path or not known):
        return True
    return {pair for pair in varying if pair in founder.symbolic} != {
        pair for pair in varying if pair in call.symbolic
    }
