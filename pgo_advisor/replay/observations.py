"""What the recorded calls of a frame tell of its inputs: which vary, which are pinned, which were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.dynamo.whole_numbers import whole_number
from pgo_advisor.replay.automatic_dynamic import AutomaticDynamic
from pgo_advisor.replay.frames import Call, pair_of, pairs


def varying_pairs(calls: Sequence[Call]) -> dict[SourceDim, int]:
    """Pairs with several values, with how many; a tensor whose rank changes has all its dims here."""
    values: dict[SourceDim, set[int | str]] = {}
    ranks: dict[str, set[int]] = {}
    for call in calls:
        for source, tensor in call.tensors.items():
            ranks.setdefault(source, set()).add(len(tensor.size))
        for pair in [*pairs(call), *(SourceDim(source, None) for source in call.scalars)]:
            if (value := call.value(pair)) is not None:
                values.setdefault(pair, set()).add(value)
    return {
        pair: len(found)
        for pair, found in values.items()
        if len(found) > 1 or (pair.dim is not None and len(ranks[pair.source]) > 1)
    }


def met_at_limit(
    calls: Sequence[Call], varying: Mapping[SourceDim, int]
) -> dict[SourceDim, set[int | str]]:
    """What took another value only in calls that met the recompile limit, with these values.

    Of such a call just the reasons are recorded: why the graphs that there are did not take it.
    """
    found: dict[SourceDim, set[int | str]] = {}
    known = {pair for call in calls for pair in pairs(call)}.difference(varying)
    for call in calls:
        if call.outcome == "limit":
            for refusal in call.refusals:
                size = whole_number(refusal.actual or "")
                if refusal.pair in known and size is not None:
                    value = size if refusal.pair.dim is not None else str(size)
                    found.setdefault(refusal.pair, set()).add(value)
    return found


def pinned_pairs(calls: Sequence[Call], varying: Mapping[SourceDim, int]) -> frozenset[SourceDim]:
    """Pairs that the code pins, whatever is declared.

    A pin counts in a compile in which everything that varies was a symbol: against a partner that
    was still static it proves nothing. What a compile left free is not pinned, but by a branch.
    """
    pinned: set[SourceDim] = set()
    free: set[SourceDim] = set()
    for call in calls:
        if all(pair in call.symbolic or call.value(pair) is None for pair in varying):
            pinned |= call.symbolic & call.pinned
        free |= call.symbolic - call.pinned
    return frozenset(pinned - free)


def given_pairs(calls: Sequence[Call]) -> frozenset[SourceDim]:
    """Pairs that were symbols in every compile that had them, from the first on: listed, profiled before.

    A mark on the tensor of one call explains a symbol there and no more; two sizes explain those after them.
    """
    automatic = AutomaticDynamic(())
    always: dict[SourceDim, bool] = {}
    unexplained: set[SourceDim] = set()
    for call in calls:
        explained = automatic.dynamic(call) | call.marked
        for pair in [*pairs(call), *(SourceDim(source, None) for source in call.scalars)]:
            special = pair.dim is not None and call.value(pair) in (0, 1)
            if not special and pair not in call.marked:
                always[pair] = always.get(pair, True) and pair in call.symbolic
                if pair in call.symbolic and pair not in explained:
                    unexplained.add(pair)
    return frozenset(pair for pair in unexplained if always[pair])


def never_automatic(
    calls: Sequence[Call], varying: Mapping[SourceDim, int]
) -> frozenset[SourceDim]:
    """Pairs that automatic dynamic passed over: of parameters and buffers, and ints that stayed constants
    although they had had two values before."""
    never: set[SourceDim] = set()
    seen: dict[SourceDim, set[int | str]] = {}
    for call in calls:
        for pair in varying:
            value = call.value(pair)
            if value is None:
                continue
            if pair.dim is not None:
                if call.tensors[pair.source].is_parameter and pair not in call.symbolic:
                    never.add(pair)
            else:
                seen.setdefault(pair, set()).add(value)
                if len(seen[pair]) > 1 and pair not in call.symbolic and call.dynamic != "false":
                    never.add(pair)
    return frozenset(never)


def joined_to_bases(calls: Sequence[Call]) -> frozenset[SourceDim]:
    """Sizes that share a symbol with a view's base by duck sizing: declared, they have one of their own."""
    return frozenset(
        pair
        for call in calls
        for group in call.duck_groups
        if any("._base." in name for name in group)
        for name in group
        if (pair := pair_of(name)) and not pair.source.endswith("._base")
    )


def _varies_with_an_alias(source: str, dim: int, calls: Sequence[Call]) -> bool:
    """Whether the dim follows that of another tensor, which is recorded under another name."""
    found: dict[str, dict[int, set[int]]] = {}
    same = {
        alias
        for call in calls
        for alias, size in call.aliases.items()
        if source in call.tensors and call.tensors[source].size == size
    }
    for call in calls:
        tensor = call.tensors.get(source)
        for alias, size in call.aliases.items():
            if alias in same or tensor is None or len(tensor.size) != len(size):
                continue
            known, follows = size[dim], tensor.size[dim]
            if known is not None and follows is not None:
                found.setdefault(alias, {}).setdefault(known, set()).add(follows)
    return any(
        len(sizes) > 1 and all(len(follows) == 1 for follows in sizes.values())
        for sizes in found.values()
    )


def view_bases(calls: Sequence[Call]) -> dict[SourceDim, frozenset[SourceDim]]:
    """Dims of views with the dims of their bases that they have to equal, or, of inputs, are made from.

    A view is made anew from its base: if the base's dim is static, so is the view's, whatever is declared.
    So it is, too, where the base is an input itself: that is recorded without its name.
    """
    bases: dict[SourceDim, set[SourceDim]] = {}
    inputs: dict[str, set[SourceDim]] = {}
    """Dims of bases that are inputs of their own, by the view."""
    aliasing = [call for call in calls if call.aliases]
    for view in varying_pairs(aliasing):
        if view.dim is not None and _varies_with_an_alias(view.source, view.dim, aliasing):
            bases[view] = {SourceDim(f"{view.source}._base", view.dim)}
    for call in calls:
        for relation, duck in call.installed:
            if not duck and (names := relation.equal_names()):
                left, right = map(pair_of, names)
                for pair, other in ((left, right), (right, left)):
                    if pair and other and other.source == f"{pair.source}._base":
                        bases.setdefault(pair, set()).add(other)
                    elif pair and other and other is right and other.source.endswith("._base"):
                        # on the right stands what came first: a base after its tensor is that tensor
                        view_source = other.source.removesuffix("._base")
                        if not pair.source.startswith(f"{view_source}."):
                            inputs.setdefault(view_source, set()).add(other)
    equal = {view.source for view in bases}
    for view in varying_pairs(calls):
        if view.dim is not None and view.source in inputs and view.source not in equal:
            bases[view] = inputs[view.source]
    return {pair: frozenset(found) for pair, found in bases.items()}
