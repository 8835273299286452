"""The advice: an entry for each input to declare, with what it saves, costs and rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pgo_advisor.advice.costs import costs
from pgo_advisor.advice.marks import Marking, markings
from pgo_advisor.advice.words import Cost, Evidence, Said, written
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.plan import Plan
from pgo_advisor.report import Advice, Input, Range
from pgo_advisor.rules.code_object import CodeObject, brief

_MAX_REASONS = 3
_MAX_VALUES = 16


def entries(
    groups: Sequence[CodeObject], plan: Plan, items: Mapping[SourceDim, str]
) -> list[Advice]:
    """The planned inputs, the most valuable first; `items` are the entries of the list that cover them."""
    marks = {group.id: markings(group) for group in groups}
    advice = []
    for pair in plan.pairs:
        worth = _worth(pair, plan)
        touched = _touched(pair, [group for group in groups if pair not in marks[group.id]])
        # what holds for one function need not for another, with an input of the same name
        alike: dict[Marking, list[CodeObject]] = defaultdict(list)
        for group in groups:
            if marking := marks[group.id].get(pair):
                alike[marking].append(group)
        for marking, inside in alike.items():
            advice.append(_entry(pair, marking, inside, worth, items.get(pair), touched))
    return sorted(advice, key=lambda item: -item.saved_seconds)


def _touched(pair: SourceDim, others: Iterable[CodeObject]) -> tuple[str, ...]:
    """The functions that have an input of the name, too."""
    return tuple(
        group.id
        for group in others
        if any(
            pair.source in call.tensors or pair.source in call.scalars for call in group.compiles
        )
    )


class _Worth(NamedTuple):
    saved: Range
    seconds: float
    unseen: tuple[Said, ...]
    """Why it is advised though no recorded compile needs it."""


def _worth(pair: SourceDim, plan: Plan) -> _Worth:
    saved, seconds = plan.saved_by(pair)
    if saved.high:
        return _Worth(saved, seconds, ())
    at_limit = any(pair in predictor.observed.at_limit for predictor in plan.predictors.values())
    return _Worth(Range(0, None), seconds, ((Cost.at_limit if at_limit else Cost.unseen)(),))


def _entry(
    pair: SourceDim,
    marking: Marking,
    inside: Sequence[CodeObject],
    worth: _Worth,
    list_entry: str | None,
    touched: tuple[str, ...],
) -> Advice:
    main = max(inside, key=lambda group: sum(r.seconds for r in group.recompiles if r.removed))
    return Advice(
        rule=_rule(main, pair),
        frame=inside[0].id,
        frames=tuple(group.id for group in inside),
        source=pair.source,
        dim=pair.dim,
        remedy=marking.remedy,
        why_remedy=str(marking.why),
        list_entry=list_entry,
        code=marking.code,
        condition=marking.condition and str(marking.condition()),
        saved=worth.saved,
        saved_seconds=worth.seconds,
        values=tuple(dict.fromkeys(value for group in inside for value in group.varying[pair])),
        together=tuple(Input(*partner) for partner in marking.together),
        evidence=tuple(map(str, _evidence(inside, pair))),
        costs=written([*worth.unseen, *(said for group in inside for said in costs(group, pair))]),
        also_touches=touched,
    )


def _rule(group: CodeObject, pair: SourceDim) -> str:
    if pair.dim is not None:
        return "parameter-shape" if group.is_parameter(pair) else "varying-dim"
    never = any(pair in group.plan.predictors[frame.key].observed.never for frame in group.frames)
    return "module-int" if never else "varying-int"


def _evidence(groups: Iterable[CodeObject], pair: SourceDim) -> Iterator[Said]:
    """PyTorch's own reasons that name the pair, then what the inputs show."""
    for group in groups:
        reasons = [
            Evidence.reason(compile_id=recompile.compile_id, reason=brief(cause.text))
            for recompile in group.recompiles
            for cause in recompile.causes
            if cause.text and (cause.source, cause.dim) == pair
        ]
        yield from reasons[:_MAX_REASONS]
        values = ", ".join(map(str, group.varying[pair][:_MAX_VALUES]))
        yield Evidence.values(frame=group.id, values=values)
