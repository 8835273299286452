"""From the tables to the report: causes, verdicts, advice, findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from pgo_advisor.advice import notes
from pgo_advisor.advice.calls import function_calls
from pgo_advisor.advice.entries import entries
from pgo_advisor.advice.opportunities import least_seconds, opportunities, severities, with_fates
from pgo_advisor.advice.profiles import profile_of
from pgo_advisor.advice.ranks import group_processes
from pgo_advisor.advice.unbacked import unbacked_option
from pgo_advisor.advice.verdicts import frame_reports
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import Capability, TorchRelease
from pgo_advisor.dynamo.source_list import encode, entries_of
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.diagnosis import causes_of
from pgo_advisor.replay.frames import Frame, frames_of, rows
from pgo_advisor.replay.plan import Plan, choose
from pgo_advisor.report import (
    Fate,
    Finding,
    FrameReport,
    Process,
    Range,
    Recompile,
    Report,
    Totals,
    Unexpressible,
)
from pgo_advisor.rules import findings_of
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.tables import Tables


def advise(tables: Tables, release: TorchRelease | None) -> Report:
    """What the tables of one job say; `release` is the PyTorch that will read the advice, if known."""
    frames = frames_of(tables)
    profile = profile_of(tables, _recorded(frames))
    plan = choose(frames, by_dim=release is not None and release.has(Capability.LIST_DIM_SUFFIX))
    groups = _groups(frames, _recompiles(frames, tables, plan), plan, release)
    recompiles = sorted(
        chain.from_iterable(group.recompiles for group in groups),
        key=lambda recompile: (recompile.start or 0.0, recompile.compile),
    )
    listed = encode(dict.fromkeys((*plan.pairs, *profile.pairs)), release)
    items = {SourceDim(e.source, e.dim): item.text for item in listed.entries for e in item.covers}
    advice = (*entries(groups, plan, items), *profile.advice(items, but=plan.pairs))
    unbacked = unbacked_option(groups, plan, release)
    reports = frame_reports(groups, tables, profile)
    recompiles = with_fates(recompiles, reports)
    findings = _findings(groups)
    in_force = notes.lists_in_force(tables)
    return Report(
        torch_version=None if release is None else str(release),
        notes=(
            *map(str, notes.of_run(tables)),
            *listed.notes,
            *map(str, (*notes.of_names(advice), *profile.notes, *notes.of_record(tables))),
        ),
        totals=_totals(reports, recompiles, tables, frames),
        dynamic_sources=_joined(*in_force, listed.value),
        unbacked_sources=unbacked.sources,
        dynamic_sources_beside_unbacked=(
            _joined(*in_force, unbacked.beside) if unbacked.sources else ""
        ),
        unbacked_saves=unbacked.saves,
        unexpressible=tuple(Unexpressible(*pair, why) for pair, why in listed.unexpressible),
        frames=tuple(reports),
        recompiles=tuple(recompiles),
        advice=advice,
        opportunities=opportunities(advice, reports, recompiles),
        severities=severities(findings, reports),
        findings=findings,
        processes=group_processes(tables, recompiles),
        calls=function_calls(groups, tables),
    )


def _totals(
    reports: Sequence[FrameReport],
    recompiles: Sequence[Recompile],
    tables: Tables,
    frames: Iterable[Frame],
) -> Totals:
    causes = Counter(recompile.causes[0].kind for recompile in recompiles)
    seconds: dict[Process, float] = defaultdict(float)
    for frame in frames:
        seconds[Process(frame.log, frame.rank)] += sum(call.seconds for call in frame.compiles)
    gone: dict[str, list[Recompile]] = defaultdict(list)
    for recompile in recompiles:
        if recompile.fate is not Fate.stays:
            gone[recompile.frame].append(recompile)
    return Totals(
        compiles=sum(report.compiles for report in reports),
        recompiles=len(recompiles),
        seconds=sum(report.seconds for report in reports),
        recompile_seconds=sum(recompile.seconds for recompile in recompiles),
        predicted=sum((report.predicted for report in reports), Range(0, 0)),
        saved_seconds=sum(report.saved_seconds for report in reports),
        least_saved_seconds=sum(least_seconds(report, gone[report.id]) for report in reports),
        unknown_causes=causes[CauseKind.unknown],
        unfinished=int((tables.compiles["outcome"] == "unknown").sum()),
        processes_compiling=len(seconds),
        slowest=max(
            (replace(process, seconds=spent) for process, spent in seconds.items()),
            key=lambda process: process.seconds,
            default=None,
        ),
    )


def _joined(*lists: str) -> str:
    """Lists as one, each entry once."""
    return ",".join(dict.fromkeys(entry for value in lists for entry in entries_of(value)))


def _findings(groups: Iterable[CodeObject]) -> tuple[Finding, ...]:
    found = chain.from_iterable(map(findings_of, groups))
    return tuple(sorted(found, key=lambda finding: (-finding.seconds, -finding.compiles)))


def _recorded(frames: Iterable[Frame]) -> set[tuple[str, int, str]]:
    """The code whose inputs are recorded in full."""
    return {frame.location for frame in frames if not any(call.partial for call in frame.compiles)}


def _recompiles(
    frames: Iterable[Frame], tables: Tables, plan: Plan
) -> dict[int, list[tuple[int, Recompile]]]:
    """Each frame's recompiles with their position among its calls, by the frame's key."""
    told = {row["compile"]: row for row in rows(tables.compiles)}
    found: dict[int, list[tuple[int, Recompile]]] = {}
    for frame in frames:
        taken = {
            call.key for graph in plan.predictions[frame.key].graphs for call in graph.compiles[1:]
        }
        found[frame.key] = [
            (
                position,
                Recompile(
                    compile=call.key,
                    log=frame.log,
                    compile_id=told[call.key]["compile_id"],
                    rank=frame.rank,
                    frame="",
                    causes=causes_of(plan.predictors[frame.key].observed, position),
                    start=told[call.key]["start"],
                    seconds=call.seconds,
                    removed=call.key in taken,
                ),
            )
            for position, call in enumerate(frame.compiles)
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
