"""From frames to what the analysis says: verdicts, advice, findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgo_advisor.advice.costs import costs
from pgo_advisor.advice.marks import Marking, decided_by, markings
from pgo_advisor.advice.profiles import Profile, profile_of
from pgo_advisor.advice.words import Cost, Evidence, Said, WhyVerdict, written
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.dynamo.source_list import SourceList, encode
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.ranges import Range
from pgo_advisor.replay.diagnosis import causes_of
from pgo_advisor.replay.frames import Frame, frames_of, rows
from pgo_advisor.replay.guarding import SIZE_CAUSES
from pgo_advisor.replay.plan import Plan, choose, declaration, saved_seconds
from pgo_advisor.report import Advice, CallSite, Finding, FrameReport, Recompile, Verdict
from pgo_advisor.rules import RULES
from pgo_advisor.rules.code_object import CodeObject, brief
from pgo_advisor.tables import Tables


@dataclass(frozen=True)
class Advised:
    """Everything that is said of one job.

    `dynamic_sources` is the advice. There can be an option: `unbacked_sources` for
    TORCH_COMPILE_UNBACKED_SOURCES, since sizes 0 and 1 are among these, together with `beside_unbacked` as
    the other list; `unbacked_saves` is how many further compiles that saves at most: whether code asks for
    these sizes, and so breaks the graph, a trace does not show.
    """

    frames: tuple[FrameReport, ...]
    recompiles: tuple[Recompile, ...]
    advice: tuple[Advice, ...]
    findings: tuple[Finding, ...]
    dynamic_sources: SourceList
    unbacked_sources: SourceList
    beside_unbacked: SourceList
    unbacked_saves: int
    notes: tuple[str, ...]
    """What the reader has to know of it, in sentences."""


def advise(tables: Tables, release: TorchRelease | None) -> Advised:
    """Analyses the tables of one job; `release` is the PyTorch that will read the advice, if known."""
    frames = frames_of(tables)
    profile = profile_of(tables, _recorded(frames))
    by_dim = release is not None and release.has(Capability.LIST_DIM_SUFFIX)
    plan = choose(frames, by_dim=by_dim)
    recompiles = _recompiles(frames, tables, plan)
    groups = _groups(frames, recompiles, plan, release)
    pairs = dict.fromkeys((*plan.pairs, *profile.pairs))
    listed = encode(pairs, release)
    items = {SourceDim(e.source, e.dim): item.text for item in listed.entries for e in item.covers}
    unbacked, beside, unbacked_saves = _unbacked(groups, plan, release)
    sites = _call_sites(tables, groups)
    reports = tuple(_report(group, plan, sites[group.id], profile) for group in groups)
    findings = [
        found
        for group in groups
        for rule in RULES.values()
        for found in map(_without_repetition, rule.findings(group))
    ]
    return Advised(
        frames=tuple(sorted(reports, key=lambda report: -report.seconds)),
        recompiles=tuple(
            sorted(
                (recompile for group in groups for recompile in group.recompiles),
                key=lambda recompile: (recompile.start or 0.0, recompile.compile),
            )
        ),
        advice=(*_advice(groups, plan, items), *profile.advice(items, but=plan.pairs)),
        findings=tuple(sorted(findings, key=lambda found: (-found.seconds, -found.compiles))),
        dynamic_sources=listed,
        unbacked_sources=unbacked,
        beside_unbacked=beside,
        unbacked_saves=unbacked_saves,
        notes=profile.notes,
    )


def _without_repetition(found: Finding) -> Finding:
    """Ranks that compiled alike give the same evidence."""
    return replace(found, evidence=tuple(dict.fromkeys(found.evidence)))


def _recorded(frames: Iterable[Frame]) -> set[tuple[str, int, str]]:
    """The code whose inputs are recorded in full."""
    return {frame.location for frame in frames if not any(call.partial for call in frame.calls)}


def _recompiles(
    frames: Iterable[Frame], tables: Tables, plan: Plan
) -> dict[int, list[tuple[int, Recompile]]]:
    """Each frame's recompiles with their position among its calls, by the frame's key."""
    failures: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows(tables.guard_failures):
        failures[row["compile"]].append(row)
    told = {row["compile"]: row for row in rows(tables.compiles)}
    found: dict[int, list[tuple[int, Recompile]]] = {}
    for frame in frames:
        taken = {
            call.compile for graph in plan.predictions[frame.key].graphs for call in graph.calls[1:]
        }
        found[frame.key] = [
            (
                position,
                Recompile(
                    compile=call.compile,
                    compile_id=told[call.compile]["compile_id"],
                    rank=frame.rank,
                    frame="",
                    causes=causes_of(frame, position, failures[call.compile]),
                    start=told[call.compile]["start"],
                    seconds=call.seconds,
                    removed=call.compile in taken,
                ),
            )
            for position, call in enumerate(frame.calls)
            if position
        ]
    return found


def _groups(
    frames: Sequence[Frame],
    recompiles: Mapping[int, list[tuple[int, Recompile]]],
    plan: Plan,
    release: TorchRelease | None,
) -> list[CodeObject]:
    by_location: dict[object, list[Frame]] = defaultdict(list)
    for frame in frames:
        by_location[frame.location].append(frame)
    names: Counter[str] = Counter()
    groups = []
    for members in by_location.values():
        name = members[0].name
        names[name] += 1
        identity = name if names[name] == 1 else f"{name}#{names[name]}"
        own = tuple(
            replace(recompile, frame=identity)
            for frame in members
            for _, recompile in recompiles[frame.key]
        )
        groups.append(CodeObject(identity, tuple(members), own, plan, release))
    return groups


def _report(
    group: CodeObject, plan: Plan, sites: tuple[CallSite, ...], profile: Profile
) -> FrameReport:
    predictions = [plan.predictions[frame.key] for frame in group.frames]
    predicted = sum((prediction.compiles for prediction in predictions), Range(0, 0))
    compiles = len(group.calls)
    causes = Counter(recompile.causes[0].kind for recompile in group.recompiles)
    saves = group.planned and predicted.low < compiles
    if not group.recompiles:
        verdict, why = Verdict.nothing_to_do, WhyVerdict.compiled_once()
    elif saves:
        verdict = Verdict.marking_helps
        why = WhyVerdict.fewer_compiles(compiles=compiles, predicted=predicted)
    elif CauseKind.marking_changed in causes:
        verdict, why = Verdict.marking_helps, WhyVerdict.mark_earlier()
    elif profile.pairs_of(group.frames[0].location):
        verdict = Verdict.marking_helps
        why = WhyVerdict.saving_unknown()
    else:
        verdict = Verdict.marking_does_not_help
        others = Counter(
            cause.kind
            for recompile in group.recompiles
            for cause in recompile.causes
            if cause.kind not in SIZE_CAUSES
        )
        named = ", ".join(kind.value for kind, _ in (others or causes).most_common(3))
        why = WhyVerdict.saves_nothing(kinds=named)
    first = group.frames[0]
    return FrameReport(
        id=group.id,
        name=group.name,
        file=first.file,
        line=first.line,
        ranks=tuple(dict.fromkeys(frame.rank for frame in group.frames)),
        compiles=compiles,
        seconds=sum(call.seconds for call in group.calls),
        predicted=predicted,
        unsure=tuple(dict.fromkeys(text for p in predictions for text in p.reasons)),
        saved_seconds=sum(map(saved_seconds, predictions)),
        verdict=verdict,
        why=str(why),
        causes=dict(causes.most_common()),
        call_sites=sites,
    )


def _call_sites(tables: Tables, groups: Iterable[CodeObject]) -> dict[str, tuple[CallSite, ...]]:
    site_of = {
        row["compile"]: CallSite(
            row["call_file"], row["call_line"], row["call_code"], row["call_through"]
        )
        for row in rows(tables.compiles)
        if row["call_file"]
    }
    return {
        group.id: tuple(
            dict.fromkeys(site_of[call.compile] for call in group.calls if call.compile in site_of)
        )
        for group in groups
    }


def _advice(
    groups: Sequence[CodeObject], plan: Plan, items: Mapping[SourceDim, str]
) -> Iterator[Advice]:
    marks = {group.id: markings(group) for group in groups}
    with_source: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for call in group.calls:
            for source in (*call.tensors, *call.scalars):
                with_source[source].add(group.id)
    advice = []
    for pair in plan.pairs:
        concerned = [group for group in groups if pair in marks[group.id]]
        touched = with_source[pair.source].difference(group.id for group in concerned)
        saved, seconds = plan.saved_by(pair)
        late = any(pair in predictor.at_limit for predictor in plan.predictors.values())
        unseen = () if saved.high else ((Cost.at_limit if late else Cost.unseen)(),)
        if unseen:
            saved = Range(0, None)
        # what holds for one function need not for another, with an input of the same name
        alike: dict[Marking, list[CodeObject]] = defaultdict(list)
        for group in concerned:
            alike[marks[group.id][pair]].append(group)
        for marking, inside in alike.items():
            main = max(
                inside, key=lambda group: sum(r.seconds for r in group.recompiles if r.removed)
            )
            advice.append(
                Advice(
                    rule=_rule(main, pair),
                    frames=tuple(group.id for group in inside),
                    source=pair.source,
                    dim=pair.dim,
                    remedy=marking.remedy,
                    why_remedy=str(marking.why),
                    list_entry=items.get(pair),
                    code=marking.code,
                    condition=marking.condition and str(marking.condition()),
                    saved=saved,
                    saved_seconds=seconds,
                    values=tuple(dict.fromkeys(v for group in inside for v in group.varying[pair])),
                    together=marking.together,
                    evidence=tuple(map(str, _evidence(inside, pair))),
                    price=written([*unseen, *(said for g in inside for said in costs(g, pair))]),
                    also_touches=tuple(group.id for group in groups if group.id in touched),
                )
            )
    yield from sorted(advice, key=lambda item: -item.saved_seconds)


def _rule(group: CodeObject, pair: SourceDim) -> str:
    if pair.dim is not None:
        return "parameter-shape" if group.is_parameter(pair) else "varying-dim"
    never = any(pair in group.plan.predictors[frame.key].never for frame in group.frames)
    return "module-int" if never else "varying-int"


def _evidence(groups: Iterable[CodeObject], pair: SourceDim) -> Iterator[Said]:
    """PyTorch's own reasons that name the pair, then what the inputs show."""
    for group in groups:
        shown = 0
        for recompile in group.recompiles:
            for cause in recompile.causes:
                if cause.text and (cause.source, cause.dim) == pair and shown < 3:
                    shown += 1
                    yield Evidence.reason(compile_id=recompile.compile_id, reason=brief(cause.text))
        values = ", ".join(map(str, group.varying[pair][:16]))
        yield Evidence.values(frame=group.id, values=values)


def _unbacked(
    groups: Sequence[CodeObject], plan: Plan, release: TorchRelease | None
) -> tuple[SourceList, SourceList, int]:
    """What to declare unbacked since sizes 0 or 1 are among its values, what beside it dynamic, and what more
    that saves.

    Only inputs by whose size no recorded compile decided anything: an unbacked size that the code asks for
    is an error, or breaks the graph.
    """
    pairs: dict[SourceDim, None] = {}
    if release is None or release.has(Capability.UNBACKED_SOURCES):
        for group in groups:
            small = {
                pair
                for pair, values in group.varying.items()
                if pair.dim is not None
                and {0, 1} & set(values)
                and pair not in group.pinned
                and not pair.source.endswith("._base")
            }
            if not small & decided_by(group.calls):
                pairs.update(dict.fromkeys(sorted(small, key=str)))
    beside = [pair for pair in plan.pairs if pair not in pairs]
    marked = declaration([*beside, *pairs], by_dim=plan.by_dim)
    saves = sum(
        plan.predictions[key].compiles.low
        - predictor.predict(marked, unbacked=pairs.keys()).compiles.low
        for key, predictor in plan.predictors.items()
        if any(map(predictor.concerns, pairs))
    )
    if saves <= 0:
        return encode([], release), encode([], release), 0
    return (
        encode(pairs, release),
        encode(beside, release),
        saves,
    )
