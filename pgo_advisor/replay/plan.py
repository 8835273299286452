"""Chooses what to declare dynamic: the fewest pairs that reach the fewest predicted compiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.frames import Call, Frame, pair_of
from pgo_advisor.replay.guarding import Marked
from pgo_advisor.replay.predict import Prediction, Predictor
from pgo_advisor.report import Range


@dataclass(frozen=True)
class Plan:
    """The pairs to declare, and what every frame's compiles are predicted to be with them.

    An entry of the list works by name, in every frame that has an input of that name, so the pairs are
    those of the whole job and every frame is replayed with all of them.
    """

    pairs: tuple[SourceDim, ...]
    by_dim: bool
    """Whether the release can declare single dims in the list; else an entry is all dims of its source."""
    predictors: dict[int, Predictor]
    predictions: dict[int, Prediction]
    candidates: dict[int, tuple[SourceDim, ...]]
    """What varies in each frame and could be declared, planned or not."""

    def marked(self, without: Collection[SourceDim] = ()) -> Marked:
        """The declaration, as `Predictor.predict` takes it, less some pairs."""
        return declaration([pair for pair in self.pairs if pair not in without], by_dim=self.by_dim)

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
        history = {pair: hash(_history(pair, self.predictors)) for pair in self.pairs}
        guards: dict[SourceDim, list[object]] = defaultdict(list)
        for predictor in self.predictors.values():
            for call in predictor.calls:
                for relation in (*(relation for relation, _ in call.installed), *call.decisions):
                    if not relation.is_lower_bound():
                        names = {n: pair_of(call.symbols.get(n, n)) for n in relation.names}
                        for pair, text in _as_each_sees_it(relation.text, names, history):
                            guards[pair].append((call.compile, text))
        return {pair: (history[pair], tuple(guards[pair])) for pair in self.pairs}

    def _lost_without(self, pair: SourceDim) -> tuple[Range, float]:
        saved, seconds = Range(0, 0), 0.0
        for key, predictor in self.predictors.items():
            if predictor.concerns(pair):
                with_pair = self.predictions[key]
                without = predictor.predict(self.marked(without=[pair]))
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


def declaration(pairs: Iterable[SourceDim], *, by_dim: bool = True) -> Marked:
    """Pairs as a function of (source, dim); `by_dim=False`: a tensor's pair stands for all its dims."""
    declared = frozenset(pairs)
    sources = frozenset(pair.source for pair in declared)
    if by_dim:
        return lambda source, dim: (source, dim) in declared
    return lambda source, dim: source in sources


def saved_seconds(prediction: Prediction) -> float:
    """Seconds of the recorded compiles that would find a graph instead."""
    return sum(call.seconds for graph in prediction.graphs for call in graph.calls[1:])


def choose(frames: Sequence[Frame], *, by_dim: bool) -> Plan:
    """Plans for a job; `by_dim` says whether the release's list can name single dims (2.13)."""
    seen: dict[object, set[SourceDim]] = defaultdict(set)
    for frame in frames:
        seen[frame.location].update(*(call.symbolic for call in frame.calls))
    limited = {
        (frame.log, frame.file, f"torch_dynamo_resume_in_{frame.name}_at_")
        for frame in frames
        if any(call.outcome == "limit" for call in frame.calls)
    }
    breaking: dict[int, set[int]] = defaultdict(set)
    for frame in frames:
        if len({frozenset(call.breaks) for call in frame.calls}) > 1:
            breaking[frame.log].add(frame.key)
    predictors = {
        frame.key: Predictor(
            frame,
            seen[frame.location],
            after_limit=any(
                (frame.log, frame.file) == (log, file) and frame.name.startswith(prefix)
                for log, file, prefix in limited
            ),
            after_break=(frame.called_from_compiled or not frame.caller_known)
            and bool(breaking[frame.log] - {frame.key}),
        )
        for frame in frames
    }
    wanted: dict[SourceDim, None] = {}
    candidates_of: dict[int, tuple[SourceDim, ...]] = {}
    for frame in frames:
        predictor = predictors[frame.key]
        candidates = candidates_of[frame.key] = tuple(_candidates(predictor))
        prediction = predictor.predict(declaration(candidates))
        if prediction.compiles.low < len(frame.calls):
            wanted.update(dict.fromkeys(candidates))
    pairs = _prune(list(wanted), predictors)
    marked = declaration(pairs, by_dim=by_dim)
    predictions = {key: predictor.predict(marked) for key, predictor in predictors.items()}
    return Plan(tuple(pairs), by_dim, predictors, predictions, candidates_of)


def _candidates(predictor: Predictor) -> list[SourceDim]:
    # what shares a symbol by duck sizing gets one of its own when it is declared
    shared = {
        pair_of(name)
        for call in predictor.calls
        for relation, duck in call.installed
        if duck
        for name in relation.names
    }.union(*(group for call in predictor.calls for group in call.pinned_groups))
    found = [
        pair
        for pair in predictor.varying
        if pair not in predictor.pinned
        and (pair not in predictor.given or pair in shared)
        and not pair.source.endswith("._base")
        and _varies_at_equal_rank(pair, predictor.calls)
    ]
    return [
        *found,
        *(
            pair
            for pair in predictor.at_limit
            if pair not in predictor.pinned and not pair.source.endswith("._base")
        ),
        *dict.fromkeys(base for pair in found for base in predictor.bases.get(pair, ())),
        *sorted(predictor.joined_to_bases - predictor.varying.keys(), key=str),
    ]


def _varies_at_equal_rank(pair: SourceDim, calls: Sequence[Call]) -> bool:
    if pair.dim is None:
        return all(
            call.scalars[pair.source].kind == "int" for call in calls if pair.source in call.scalars
        )
    sizes: dict[int, set[int | str]] = defaultdict(set)
    for call in calls:
        if (value := call.value(pair)) is not None:
            sizes[len(call.tensors[pair.source].size)].add(value)
    return any(len(found) > 1 for found in sizes.values())


def _prune(pairs: list[SourceDim], predictors: dict[int, Predictor]) -> list[SourceDim]:
    """Drops what can be left out without more predicted compiles, and without a doubt.

    Pairs that took the same sizes in the same calls stand or fall together: one of each such class is tried.
    """
    classes: dict[object, list[SourceDim]] = defaultdict(list)
    for pair in pairs:
        classes[_history(pair, predictors)].append(pair)
    kept = list(pairs)
    for members in reversed(list(classes.values())):
        affected = [p for p in predictors.values() if any(map(p.concerns, members))]
        if _needed(members[:1], kept, affected):
            continue
        if not _needed(members, kept, affected):
            kept = [pair for pair in kept if pair not in members]
            continue
        for pair in members:
            if not _needed([pair], kept, affected):
                kept.remove(pair)
    return kept


def _needed(
    pairs: Sequence[SourceDim], kept: Sequence[SourceDim], predictors: Sequence[Predictor]
) -> bool:
    """Whether leaving out these pairs may cost a compile: a recorded one, or one that no record shows.

    A replay that does not even give the recorded compiles proves nothing.
    """
    marked, without = declaration(kept), declaration([pair for pair in kept if pair not in pairs])
    for predictor in predictors:
        if not predictor.self_check and any(map(predictor.concerns, pairs)):
            return True
        before, after = predictor.predict(marked), predictor.predict(without)
        if after.compiles.low > before.compiles.low:
            return True
        if any(predictor.loses(pair, after) for pair in pairs):
            return True
        if predictor.unites(pairs, without, after):
            return True
    return False


def _history(pair: SourceDim, predictors: dict[int, Predictor]) -> object:
    return (
        pair.dim is None,
        tuple(
            (key, tuple(call.value(pair) for call in predictor.calls))
            for key, predictor in predictors.items()
            if predictor.concerns(pair)
        ),
    )
