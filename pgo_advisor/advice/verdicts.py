"""Each compiled function: what it cost, what the advice makes of it, and whether marking helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pgo_advisor.advice.profiles import Profile
from pgo_advisor.advice.words import DOUBTS, Said, WhyVerdict
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.replay.compiles import SIZE_CAUSES
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import CallSite, Fate, FrameReport, Range, Recompile, Verdict
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.tables import Tables


def frame_reports(
    groups: Iterable[CodeObject], tables: Tables, profile: Profile
) -> list[FrameReport]:
    """The functions, the most expensive first."""
    site_of = {
        row["compile"]: CallSite(
            row["call_file"], row["call_line"], row["call_code"], row["call_through"]
        )
        for row in rows(tables.compiles)
        if row["call_file"]
    }
    found = []
    for group in groups:
        sites = (site_of[call.key] for call in group.compiles if call.key in site_of)
        found.append(_frame_report(group, tuple(dict.fromkeys(sites)), profile))
    return sorted(found, key=lambda frame: -frame.seconds)


def _frame_report(group: CodeObject, sites: tuple[CallSite, ...], profile: Profile) -> FrameReport:
    first = group.frames[0]
    predictions = [group.plan.predictions[frame.key] for frame in group.frames]
    predicted = sum((prediction.compiles for prediction in predictions), Range(0, 0))
    verdict, why = _verdict(group, predicted, profile)
    return FrameReport(
        id=group.id,
        name=group.name,
        file=first.file,
        line=first.line,
        ranks=tuple(dict.fromkeys(frame.rank for frame in group.frames)),
        compiles=len(group.compiles),
        seconds=sum(call.seconds for call in group.compiles),
        predicted=predicted,
        unsure=tuple(dict.fromkeys(DOUBTS[doubt.kind] for p in predictions for doubt in p.doubts)),
        saved_seconds=sum(
            recompile.seconds
            for recompile in group.recompiles
            if fate(recompile, predicted, verdict) is not Fate.stays
        ),
        verdict=verdict,
        why=str(why),
        causes=dict(_main_causes(group).most_common()),
        call_sites=sites,
    )


def fate(recompile: Recompile, predicted: Range, verdict: Verdict) -> Fate:
    """What becomes of a recompile of a function with this prediction and verdict."""
    if recompile.removed:
        return Fate.goes if predicted.exact else Fate.may_go
    at_limit = any(cause.kind is CauseKind.recompile_limit for cause in recompile.causes)
    # the call that hit the limit compiles nothing once the compiles before it are gone
    return Fate.may_go if at_limit and verdict is Verdict.marking_helps else Fate.stays


def _verdict(group: CodeObject, predicted: Range, profile: Profile) -> tuple[Verdict, Said]:
    compiles = len(group.compiles)
    if not group.recompiles:
        return Verdict.nothing_to_do, _never_again(group)
    if group.planned and predicted.low < compiles:
        why = WhyVerdict.fewer_compiles(compiles=compiles, predicted=predicted)
        return Verdict.marking_helps, why
    causes = _main_causes(group)
    if CauseKind.marking_changed in causes:
        return Verdict.marking_helps, WhyVerdict.mark_earlier()
    if profile.pairs_of(group.frames[0].location):
        return Verdict.marking_helps, WhyVerdict.saving_unknown()
    if CauseKind.not_in_text in causes:
        return Verdict.marking_does_not_help, WhyVerdict.not_in_text()
    kinds = ", ".join(kind.value for kind, _ in (_not_of_size(group) or causes).most_common(3))
    return Verdict.marking_does_not_help, WhyVerdict.saves_nothing(kinds=kinds)


def _never_again(group: CodeObject) -> Said:
    processes = len({frame.log for frame in group.frames})
    if len(group.compiles) > processes:
        return WhyVerdict.compiled_anew(compiles=len(group.compiles))
    if processes > 1:
        return WhyVerdict.once_in_each(processes=processes)
    return WhyVerdict.compiled_once()


def _not_of_size(group: CodeObject) -> Counter[CauseKind]:
    causes = (cause.kind for recompile in group.recompiles for cause in recompile.causes)
    return Counter(kind for kind in causes if kind not in SIZE_CAUSES)


def _main_causes(group: CodeObject) -> Counter[CauseKind]:
    return Counter(recompile.causes[0].kind for recompile in group.recompiles)
