"""Chooses what to declare dynamic: the fewest pairs that reach the fewest predicted compiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pgo_advisor.dynamo.sources import SourceDim, declarable
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.declaration import Declaration
from pgo_advisor.replay.frames import Frame
from pgo_advisor.replay.observations import Observations
from pgo_advisor.replay.predict import Prediction, Predictor
from pgo_advisor.report import Range


@dataclass(frozen=True)
class Plan:
    """The pairs to declare, and what every frame's compiles are predicted to be with them.

    An entry of the list works by name, in every frame that has an input of that name, so the pairs are
    those of the whole job and every frame is replayed with all of them.
    """

    declaration: Declaration
    pairs: tuple[SourceDim, ...]
    """What is declared, in the order of the frames."""
    predictors: dict[int, Predictor]
    predictions: dict[int, Prediction]
    candidates: dict[int, tuple[SourceDim, ...]]
    """What varies in each frame and could be declared, planned or not."""

    def saved_by(self, pair: SourceDim) -> tuple[Range, float]:
        """Compiles and seconds that the job would lose without this pair, the others being declared."""
        alike = self._alike[pair]
        if alike not in self._saved:
            self._saved[alike] = self._lost_without(pair)
        return self._saved[alike]

    @cached_property
    def _saved(self) -> dict[object, tuple[Range, float]]:
        return {}

    @cached_property
    def _alike(self) -> dict[SourceDim, object]:
        """What tells the pairs apart whose loss can differ: their values, and what guards say of them."""
        history = {
            pair: hash(_history(pair, list(self.predictors.values()))) for pair in self.pairs
        }
        guards: dict[SourceDim, list[object]] = defaultdict(list)
        for predictor in self.predictors.values():
            for call in predictor.observed.compiles:
                for relation in (*(relation for relation, _ in call.installed), *call.decisions):
                    if not relation.is_lower_bound():
                        names = {n: declarable(call.symbols.get(n, n)) for n in relation.names}
                        for pair, text in _as_each_sees_it(relation.text, names, history):
                            guards[pair].append((call.key, text))
        return {pair: (history[pair], tuple(guards[pair])) for pair in self.pairs}

    def _lost_without(self, pair: SourceDim) -> tuple[Range, float]:
        saved, seconds = Range(0, 0), 0.0
        for key, predictor in self.predictors.items():
            if predictor.observed.concerns(pair):
                with_pair = self.predictions[key]
                without = predictor.predict(self.declaration.without([pair]))
                gain = max(0, without.compiles.low - with_pair.compiles.low)
                certain = with_pair.compiles.exact and without.compiles.exact
                saved += Range(gain if certain else 0, gain)
                seconds += max(0.0, saved_seconds(with_pair) - saved_seconds(without))
        return saved, seconds


def _as_each_sees_it(
    text: str, names: Mapping[str, SourceDim | None], history: Mapping[SourceDim, int]
) -> Iterator[tuple[SourceDim, str]]:
    """A guard with its pairs' values for their names, for each of them with its own name left out."""
    known = {name: pair for name, pair in names.items() if pair and pair in history}
    for own, pair in known.items():
        seen = text
        for name in sorted(known, key=len, reverse=True):
            seen = seen.replace(name, "?" if name == own else f"<{history[known[name]]}>")
        yield pair, seen


def saved_seconds(prediction: Prediction) -> float:
    """Seconds of the recorded compiles that would find a graph instead."""
    return sum(call.seconds for graph in prediction.graphs for call in graph.compiles[1:])


def choose(frames: Sequence[Frame], *, by_dim: bool) -> Plan:
    """Plans for a job; `by_dim` says whether the release's list can name single dims (2.13)."""
    predictors = {observed.frame.key: Predictor(observed) for observed in observe(frames)}
    candidates = {
        key: tuple(_candidates(predictor.observed)) for key, predictor in predictors.items()
    }
    wanted: dict[SourceDim, None] = {}
    for key, predictor in predictors.items():
        prediction = predictor.predict(Declaration.of(candidates[key]))
        if prediction.compiles.low < len(predictor.observed.frame.compiles):
            wanted.update(dict.fromkeys(candidates[key]))
    everywhere = list(predictors.values())
    pairs = _with_companions(_prune(list(wanted), everywhere), list(wanted), everywhere)
    declaration = Declaration.of(pairs, by_dim=by_dim)
    predictions = {key: predictor.predict(declaration) for key, predictor in predictors.items()}
    return Plan(declaration, tuple(pairs), predictors, predictions, candidates)


def observe(frames: Sequence[Frame]) -> list[Observations]:
    """What the frames of a job show, each in the light of the others."""
    seen: dict[object, set[SourceDim]] = defaultdict(set)
    breaking: dict[int, set[int]] = defaultdict(set)
    for frame in frames:
        seen[frame.location].update(*(call.symbolic for call in frame.compiles))
        if frame.breaks_at_times:
            breaking[frame.log].add(frame.key)
    limited = [frame for frame in frames if frame.hit_limit]
    return [
        Observations(
            frame,
            seen[frame.location],
            after_limit=any(frame.resumes(before) for before in limited),
            after_break=frame.may_follow_a_break and bool(breaking[frame.log] - {frame.key}),
        )
        for frame in frames
    ]


def _candidates(observed: Observations) -> list[SourceDim]:
    # what is a symbol anyway gets one of its own when it is declared
    useless = observed.specialized | (observed.dynamic_from_start - _duck_shaped(observed))
    found = [
        pair
        for pair in observed.varying
        if pair not in useless
        and not pair.is_base
        and _varies_at_equal_rank(pair, observed.compiles)
    ]
    return [
        *found,
        *(
            pair
            for pair in observed.at_limit
            if pair not in observed.specialized and not pair.is_base
        ),
        *dict.fromkeys(
            base for pair in found for base in sorted(observed.bases.get(pair, ()), key=str)
        ),
        *sorted(observed.joined_to_bases - observed.varying.keys(), key=str),
        *sorted(observed.beside_strides - useless, key=str),
    ]


def _duck_shaped(observed: Observations) -> set[SourceDim | None]:
    """What shared a symbol by duck sizing."""
    names = (name for call in observed.compiles for group in call.duck_groups for name in group)
    together = (group for call in observed.compiles for group in call.specialized_groups)
    return set(map(declarable, names)).union(*together)


def _varies_at_equal_rank(pair: SourceDim, compiles: Sequence[Compile]) -> bool:
    if pair.dim is None:
        numbers = {call.scalars[pair.source] for call in compiles if pair.source in call.scalars}
        return sum(number.kind == "int" for number in numbers) > 1
    sizes: dict[int, set[int | str]] = defaultdict(set)
    for call in compiles:
        if (value := call.value(pair)) is not None:
            sizes[len(call.tensors[pair.source].size)].add(value)
    return any(len(found) > 1 for found in sizes.values())


def _prune(pairs: list[SourceDim], predictors: Sequence[Predictor]) -> list[SourceDim]:
    """Drops what can be left out without more predicted compiles, and without a doubt.

    Pairs that took the same sizes in the same calls stand or fall together: one of each such class is tried.
    """
    classes: dict[object, list[SourceDim]] = defaultdict(list)
    for pair in pairs:
        classes[_history(pair, predictors)].append(pair)
    kept = Declaration.of(pairs)
    for members in reversed(list(classes.values())):
        affected = [p for p in predictors if any(map(p.observed.concerns, members))]
        kept = _without_needless(members, kept, affected)
    return [pair for pair in pairs if pair in kept]


def _without_needless(
    members: Sequence[SourceDim], kept: Declaration, predictors: Sequence[Predictor]
) -> Declaration:
    """The declaration without as many of a class as can be left out."""
    if _needed(members[:1], kept, predictors):
        return kept
    if not _needed(members, kept, predictors):
        return kept.without(members)
    for pair in members:
        if not _needed([pair], kept, predictors):
            kept = kept.without([pair])
    return kept


def _with_companions(
    pairs: list[SourceDim], wanted: Sequence[SourceDim], predictors: Sequence[Predictor]
) -> list[SourceDim]:
    """The pairs, and what varied beside them in a tensor of theirs, if nothing argues against it.

    Which of a tensor's dims a recording needs is chance: another order of its sizes needs another one.
    """
    kept = Declaration.of(pairs)
    tensors = {pair.source for pair in pairs if pair.dim is not None and not pair.is_base}
    for pair in wanted:
        if pair not in kept and pair.source in tensors and pair.dim is not None:
            more = kept.beside([pair])
            if all(_is_free_in(p, pair, kept, more) for p in predictors):
                kept = more
    return [pair for pair in wanted if pair in kept]


def _is_free_in(
    predictor: Predictor, pair: SourceDim, kept: Declaration, more: Declaration
) -> bool:
    """Whether declaring the pair, too, costs nothing and leaves as little in doubt."""
    observed = predictor.observed
    if pair not in observed.named:
        return True
    if pair not in observed.varying:
        return False
    before, after = predictor.predict(kept).compiles, predictor.predict(more).compiles
    return after.low <= before.low and (
        before.high is None or (after.high is not None and after.high <= before.high)
    )


def _needed(pairs: Sequence[SourceDim], kept: Declaration, predictors: Sequence[Predictor]) -> bool:
    """Whether leaving out these pairs may cost a compile: a recorded one, or one that no record shows."""
    without = kept.without(pairs)
    return any(_is_needed_in(predictor, pairs, kept, without) for predictor in predictors)


def _is_needed_in(
    predictor: Predictor, pairs: Sequence[SourceDim], kept: Declaration, without: Declaration
) -> bool:
    """A replay that does not even give the recorded compiles proves nothing."""
    if not predictor.explained and any(map(predictor.observed.concerns, pairs)):
        return True
    before, after = predictor.predict(kept), predictor.predict(without)
    return (
        after.compiles.low > before.compiles.low
        or any(predictor.loses(pair, after) for pair in pairs)
        or predictor.unites(pairs, without, after)
    )


def _history(pair: SourceDim, predictors: Sequence[Predictor]) -> object:
    return (
        pair.dim is None,
        tuple(
            (number, tuple(call.value(pair) for call in predictor.observed.compiles))
            for number, predictor in enumerate(predictors)
            if predictor.observed.concerns(pair)
        ),
    )
