"""What the recorded compiles of a frame show of its inputs: which vary, which the code specializes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import permutations

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim, base_of, declarable, is_of_base, view_of
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic
from pgo_advisor.replay.compiles import Compile, stays_constant
from pgo_advisor.replay.decisions import Decisions
from pgo_advisor.replay.frames import Frame

Value = int | str


class Observations:
    """What is known of one frame; each worked out once.

    `seen` are dims that were symbols in the same code elsewhere, as on another rank: what the code does
    with such a symbol is known then. `after_limit`: the frame goes on where another breaks that hit the
    recompile limit; `after_break`: where another breaks in some of its graphs only.
    """

    def __init__(
        self,
        frame: Frame,
        seen: Collection[SourceDim] = (),
        *,
        after_limit: bool = False,
        after_break: bool = False,
    ) -> None:
        self.frame = frame
        self.after_limit = after_limit
        self.after_break = after_break
        self.compiles = [
            call for call in frame.compiles if call.tensors or call.scalars or call.structure
        ]
        """The compiles whose inputs are recorded."""
        self.blind = [call for call in frame.compiles if call not in self.compiles]
        """The others: of one that met the recompile limit only the reasons are."""
        self._seen = seen

    @cached_property
    def varying(self) -> dict[SourceDim, int]:
        """Inputs with several values, with how many; a tensor whose rank changes has all its dims here."""
        return varying_pairs(self.compiles)

    @cached_property
    def at_limit(self) -> dict[SourceDim, set[Value]]:
        """What took another value only in calls that met the recompile limit, with these values."""
        found: dict[SourceDim, set[Value]] = {}
        late = (call for call in self.frame.compiles if call.outcome == "limit")
        for refusal in (refusal for call in late for refusal in call.refusals):
            if refusal.cause is CauseKind.tensor_stride:
                continue
            if refusal.pair in self._constant and (value := refusal.met) is not None:
                found.setdefault(refusal.pair, set()).add(value)
        return found

    @cached_property
    def beside_strides(self) -> frozenset[SourceDim]:
        """Dims of tensors whose strides vary at equal sizes, though none of their sizes does.

        Any of them makes the strides symbols once it is one (`_compute_symbolic_stride` in
        torch/fx/experimental/symbolic_shapes.py).
        """
        sized = {pair.source for pair in self.varying}
        strides: dict[str, set[tuple[int | None, ...]]] = defaultdict(set)
        for call in self.compiles:
            for source, tensor in call.tensors.items():
                if source not in sized and not tensor.is_parameter:
                    strides[source].add(tensor.stride)
        return frozenset(
            pair
            for call in self.compiles
            for pair in call.pairs()
            if len(strides.get(pair.source, ())) > 1 and not stays_constant(pair, call.value(pair))
        )

    @cached_property
    def _constant(self) -> frozenset[SourceDim]:
        return frozenset(pair for call in self.compiles for pair in call.pairs()) - set(
            self.varying
        )

    @cached_property
    def specialized(self) -> frozenset[SourceDim]:
        """What the code specializes, whatever is declared.

        That counts in a compile in which everything that varies was a symbol: against a partner that was
        still static it proves nothing. What a compile left free is not specialized, but by a branch.
        """
        specialized: set[SourceDim] = set()
        for call in self.compiles:
            if all(pair in call.symbolic or call.value(pair) is None for pair in self.varying):
                specialized |= call.symbolic & call.specialized
        return frozenset(specialized.difference(*(call.free for call in self.compiles)))

    @cached_property
    def dynamic_from_start(self) -> frozenset[SourceDim]:
        """Symbols in every compile that had them, from the first on: listed, or profiled before.

        A mark on the tensor of one call explains a symbol there and no more; two sizes explain those
        after them.
        """
        automatic = AutomaticDynamic(())
        always: dict[SourceDim, bool] = {}
        unexplained: set[SourceDim] = set()
        for call in self.compiles:
            explained = automatic.dynamic(call)
            for pair in call.inputs():
                if pair in call.marked or stays_constant(pair, call.value(pair)):
                    continue
                symbolic = pair in call.symbolic
                always[pair] = always.get(pair, True) and symbolic
                if symbolic and pair not in explained:
                    unexplained.add(pair)
        return frozenset(pair for pair in unexplained if always[pair])

    @cached_property
    def never(self) -> frozenset[SourceDim]:
        """What automatic dynamic passed over: of parameters and buffers, and ints that stayed constants
        although they had had two values before.
        """
        return frozenset(pair for pair in self.varying if self._passed_over(pair))

    def _passed_over(self, pair: SourceDim) -> bool:
        values: set[Value] = set()
        for call in self.compiles:
            if (value := call.value(pair)) is None:
                continue
            values.add(value)
            if pair not in call.symbolic and (
                call.tensors[pair.source].is_parameter
                if pair.dim is not None
                else len(values) > 1 and call.dynamic != "false"
            ):
                return True
        return False

    @cached_property
    def never_symbols(self) -> frozenset[SourceDim]:
        """What neither varied here nor was a symbol, here or in the same code elsewhere."""
        return self._constant.difference(self._seen, *(call.symbolic for call in self.compiles))

    @cached_property
    def joined_to_bases(self) -> frozenset[SourceDim]:
        """Sizes that share a symbol with a view's base by duck sizing; declared, they have their own."""
        return frozenset(
            pair
            for call in self.compiles
            for group in call.duck_groups
            if any(map(is_of_base, group))
            for name in group
            if (pair := declarable(name)) and not pair.is_base
        )

    @cached_property
    def bases(self) -> dict[SourceDim, frozenset[SourceDim]]:
        """Dims of views with the dims of their bases that they have to equal, or, of inputs, are made from.

        A view is made anew from its base: if the base's dim is static, so is the view's, whatever is
        declared. So it is, too, where the base is an input itself: that is recorded without its name.
        """
        return _view_bases(self.compiles)

    @cached_property
    def named(self) -> frozenset[SourceDim]:
        """Everything by whose declaration something can change here."""
        inputs = {pair for call in self.compiles for pair in call.pairs()}
        return frozenset(inputs).union(self.varying, self.at_limit, *self.bases.values())

    @cached_property
    def compiled_padded(self) -> dict[str, list[set[SourceDim]]]:
        """The symbols of each compile that had a tensor with padding, by that tensor."""
        found: dict[str, list[set[SourceDim]]] = defaultdict(list)
        for call in self.compiles:
            for source, tensor in call.tensors.items():
                if not tensor.is_contiguous:
                    found[source].append(call.symbolic)
        return found

    @cached_property
    def decisions(self) -> Decisions:
        return Decisions(self.compiles, self.varying)

    def concerns(self, pair: SourceDim) -> bool:
        """Whether declaring it can change anything in this frame."""
        return (
            pair in self.varying
            or pair in self.at_limit
            or pair in self.joined_to_bases
            or pair in self.beside_strides
            or any(pair in bases for bases in self.bases.values())
        )


def varying_pairs(compiles: Iterable[Compile]) -> dict[SourceDim, int]:
    """Inputs with several values, with how many; a tensor whose rank changes has all its dims here."""
    values: dict[SourceDim, set[Value]] = {}
    ranks: dict[str, set[int]] = {}
    for call in compiles:
        for source, tensor in call.tensors.items():
            ranks.setdefault(source, set()).add(len(tensor.size))
        for pair in call.inputs():
            if (value := call.value(pair)) is not None:
                values.setdefault(pair, set()).add(value)
    return {
        pair: len(found)
        for pair, found in values.items()
        if len(found) > 1 or (pair.dim is not None and len(ranks[pair.source]) > 1)
    }


def _view_bases(compiles: Sequence[Compile]) -> dict[SourceDim, frozenset[SourceDim]]:
    bases: dict[SourceDim, set[SourceDim]] = defaultdict(set)
    for pair in _following_an_alias(compiles):
        bases[pair].add(SourceDim(base_of(pair.source), pair.dim))
    for both in _equalities(compiles):
        for pair, other in permutations(both):
            if other.source == base_of(pair.source):
                bases[pair].add(other)
    inputs = _bases_that_are_inputs(compiles)
    equal = {pair.source for pair in bases}
    for pair in varying_pairs(compiles):
        if pair.dim is not None and pair.source in inputs.keys() - equal:
            bases[pair] = inputs[pair.source]
    return {pair: frozenset(found) for pair, found in bases.items()}


def _bases_that_are_inputs(compiles: Iterable[Compile]) -> dict[str, set[SourceDim]]:
    """Dims of bases that are inputs of their own, by the view."""
    inputs: dict[str, set[SourceDim]] = defaultdict(set)
    for left, right in _equalities(compiles):
        view = view_of(right.source)
        # on the right stands what came first: a base after its tensor is that tensor
        own = left.source == view or left.source.startswith(f"{view}.")
        # two views can have one base, which no input is then
        if right.is_base and not left.is_base and not own:
            inputs[view].add(right)
    return inputs


def _equalities(compiles: Iterable[Compile]) -> Iterator[tuple[SourceDim, SourceDim]]:
    """What the code, not duck sizing, requires to be equal."""
    for call in compiles:
        for relation, duck in call.installed:
            left, right = map(declarable, relation.equal_names() or ("()", "()"))
            if left and right and not duck:
                yield left, right


def _following_an_alias(compiles: Iterable[Compile]) -> Iterator[SourceDim]:
    """Dims that follow that of another tensor, which is recorded under another name."""
    aliasing = [call for call in compiles if call.aliases]
    for source, dim in varying_pairs(aliasing):
        others = _other_aliases(source, aliasing)
        if dim is not None and any(_follows(source, dim, alias, aliasing) for alias in others):
            yield SourceDim(source, dim)


def _other_aliases(source: str, compiles: Sequence[Compile]) -> list[str]:
    """The aliases that are never of the tensor's size, and so not the tensor itself."""
    aliases = {alias for call in compiles for alias in call.aliases}
    return [a for a in aliases if not any(_is_the_same(source, a, call) for call in compiles)]


def _is_the_same(source: str, alias: str, call: Compile) -> bool:
    tensor = call.tensors.get(source)
    return tensor is not None and tensor.size == call.aliases.get(alias)


def _follows(source: str, dim: int, alias: str, compiles: Iterable[Compile]) -> bool:
    """Whether the dim has one size for each of the alias', which are several."""
    sizes: dict[int, set[int]] = defaultdict(set)
    for call in compiles:
        if source in call.tensors and alias in call.aliases:
            own, other = call.tensors[source].size, call.aliases[alias]
            if len(own) == len(other) and None not in (own[dim], other[dim]):
                sizes[other[dim]].add(own[dim])  # type: ignore[index, arg-type]
    return len(sizes) > 1 and all(len(own) == 1 for own in sizes.values())
