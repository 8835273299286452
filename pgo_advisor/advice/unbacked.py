"""The option for inputs that have sizes 0 or 1: what to declare unbacked, and what beside it dynamic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.dynamo.shape_guards import Relation
from pgo_advisor.dynamo.source_list import encode
from pgo_advisor.dynamo.sources import SourceDim, declarable
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.plan import Plan
from pgo_advisor.rules.code_object import CodeObject


class Unbacked(NamedTuple):
    """The two lists, empty where nothing is gained, and how many more compiles they save at most."""

    sources: str = ""
    beside: str = ""
    saves: int = 0


def unbacked_option(
    groups: Sequence[CodeObject], plan: Plan, release: TorchRelease | None
) -> Unbacked:
    """Only inputs by whose size no recorded compile decided anything.

    An unbacked size that the code asks for is an error, or breaks the graph.
    """
    if release is not None and not release.has(Capability.UNBACKED_SOURCES):
        return Unbacked()
    pairs = dict.fromkeys(pair for group in groups for pair in _small(group))
    concerned = [
        key for key, found in plan.predictors.items() if any(map(found.observed.concerns, pairs))
    ]
    # what varied only where a size was 0 or 1 is not in the list: that call compiled anyway
    hidden = (pair for key in concerned for pair in plan.candidates[key])
    listed = [pair for pair in plan.pairs if pair not in pairs]
    options = [listed, list(dict.fromkeys(p for p in (*listed, *hidden) if p not in pairs))]
    saves, beside = max(
        ((_saved(plan, pairs, option), option) for option in options), key=lambda one: one[0]
    )
    if saves <= 0:
        return Unbacked()
    return Unbacked(encode(pairs, release).value, encode(beside, release).value, saves)


def _saved(plan: Plan, pairs: Iterable[SourceDim], beside: Iterable[SourceDim]) -> int:
    """Compiles that the option saves beyond the plan."""
    declared = Declaration.of(beside, by_dim=plan.declaration.by_dim, unbacked=pairs)
    return sum(
        plan.predictions[key].compiles.low - predictor.predict(declared).compiles.low
        for key, predictor in plan.predictors.items()
        if any(map(predictor.observed.concerns, declared.dims))
    )


def _small(group: CodeObject) -> list[SourceDim]:
    """The dims with sizes 0 or 1; none if the code decided anything by one of them."""
    small = {
        pair
        for pair, values in group.varying.items()
        if pair.dim is not None and {0, 1}.intersection(values) and pair not in group.specialized
    }
    arguments = {pair for pair in small if not pair.is_base}
    return [] if arguments & _decided_by(group.compiles) else sorted(arguments, key=str)


def _decided_by(compiles: Iterable[Compile]) -> set[SourceDim]:
    """Pairs by whose size a recorded compile decided something, be it only that it equals another."""
    return {
        pair
        for call in compiles
        for relation in _decisions(call)
        for name in relation.names
        if (pair := declarable(call.symbols.get(name, name))) is not None
    }


def _decisions(call: Compile) -> Iterator[Relation]:
    for relation in (*call.decisions, *(relation for relation, _ in call.installed)):
        if not relation.is_lower_bound() and not relation.is_about_strides():
            yield relation
