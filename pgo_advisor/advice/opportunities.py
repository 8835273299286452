"""Which of the advised inputs belong together, and what each such change saves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from pgo_advisor.advice.verdicts import fate
from pgo_advisor.report import (
    Advice,
    Consequence,
    Fate,
    Finding,
    FrameReport,
    Opportunity,
    Range,
    Recompile,
    Severity,
    Verdict,
)


class _Groups:
    """Numbers that are joined into groups; the least of a group stands for it."""

    def __init__(self, number: int) -> None:
        self._above = list(range(number))

    def root(self, index: int) -> int:
        while self._above[index] != index:
            self._above[index] = index = self._above[self._above[index]]
        return index

    def join(self, members: Sequence[int]) -> None:
        for index in members:
            low, high = sorted((self.root(members[0]), self.root(index)))
            self._above[high] = low


def opportunities(
    advice: Sequence[Advice], frames: Iterable[FrameReport], recompiles: Iterable[Recompile]
) -> tuple[Opportunity, ...]:
    """The independent changes, the one that saves the most seconds first.

    Inputs belong together if the code requires them to be equal, if they took the same sizes in the same
    functions, or if one recompile goes only with all of them.
    """
    reports = {frame.id: frame for frame in frames}
    of_frame: dict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(advice):
        for name in item.frames:
            of_frame[name].append(index)
    groups = _Groups(len(advice))
    _join_alike(groups, advice)
    gone: list[tuple[int, Recompile]] = []
    for recompile in recompiles:
        members = of_frame[recompile.frame]
        if members and recompile.fate is not Fate.stays:
            caused = _caused(recompile, members, advice) or members[:1]
            groups.join(caused)
            gone.append((caused[0], recompile))
    saving = {groups.root(index) for index, _ in gone}
    for index, item in enumerate(advice):
        if groups.root(index) not in saving:
            # it saves no recorded compile by itself: it stands with the first input of its function
            groups.join([of_frame[item.frame][0], index])
    members_of: dict[int, list[int]] = defaultdict(list)
    gone_with: dict[int, list[Recompile]] = defaultdict(list)
    for index in range(len(advice)):
        members_of[groups.root(index)].append(index)
    for index, recompile in gone:
        gone_with[groups.root(index)].append(recompile)
    found = [
        _opportunity(members, advice, gone_with[root], reports)
        for root, members in members_of.items()
    ]
    return tuple(
        sorted(found, key=lambda one: (-one.saved_seconds, -(one.saved_compiles.high or 0)))
    )


def with_fates(recompiles: Iterable[Recompile], frames: Iterable[FrameReport]) -> list[Recompile]:
    """The recompiles with what becomes of them."""
    told = {frame.id: (frame.predicted, frame.verdict) for frame in frames}
    return [replace(found, fate=fate(found, *told[found.frame])) for found in recompiles]


def severities(findings: Iterable[Finding], frames: Iterable[FrameReport]) -> tuple[Severity, ...]:
    """What the findings tell that is worse than a recompile, each kind once."""
    helped = {frame.id for frame in frames if frame.verdict is Verdict.marking_helps}
    befell: dict[Consequence, dict[str, None]] = {}
    for finding in findings:
        if kind := finding.consequence:
            befell.setdefault(kind, {}).update(dict.fromkeys(finding.frames))
    return tuple(
        Severity(
            kind,
            tuple(befell[kind]),
            kind is Consequence.runs_uncompiled and helped.issuperset(befell[kind]),
        )
        for kind in Consequence
        if kind in befell
    )


def least_seconds(frame: FrameReport, gone: Sequence[Recompile]) -> float:
    """What goes for certain: as many of these recompiles as the range allows, the cheapest of them."""
    return sum(sorted(recompile.seconds for recompile in gone)[: _least(frame, len(gone))])


def _least(frame: FrameReport, gone: int) -> int:
    if frame.predicted.exact:
        return gone
    high = frame.predicted.high
    return 0 if high is None else min(gone, max(0, frame.compiles - high))


def _join_alike(groups: _Groups, advice: Sequence[Advice]) -> None:
    alike: dict[object, list[int]] = defaultdict(list)
    for index, item in enumerate(advice):
        alike[item.rule, item.frames, item.values].append(index)
        for pair in (item.pair, *(other.pair for other in item.together)):
            alike[item.frame, pair].append(index)
    for members in alike.values():
        groups.join(members)


def _caused(recompile: Recompile, members: Sequence[int], advice: Sequence[Advice]) -> list[int]:
    """The advised inputs that changed at this recompile, that of its main cause first."""
    places = {advice[index].pair: index for index in reversed(members)}
    pairs = dict.fromkeys((cause.source, cause.dim) for cause in recompile.causes)
    return [places[pair] for pair in pairs if pair in places]


def _opportunity(
    members: Sequence[int],
    advice: Sequence[Advice],
    gone: Sequence[Recompile],
    reports: Mapping[str, FrameReport],
) -> Opportunity:
    by_frame: dict[str, list[Recompile]] = defaultdict(list)
    for recompile in gone:
        by_frame[recompile.frame].append(recompile)
    # of a range nobody knows which opportunity it is about, unless all that may go is this one's
    alone = {
        name: reports[name].predicted.exact or _all_here(reports[name], found)
        for name, found in by_frame.items()
    }
    return Opportunity(
        advice=tuple(members),
        frames=tuple(dict.fromkeys(name for index in members for name in advice[index].frames)),
        equal=any(advice[index].together for index in members),
        saved_compiles=Range(
            sum(
                _least(reports[name], len(found)) for name, found in by_frame.items() if alone[name]
            ),
            len(gone),
        ),
        saved_seconds=sum(recompile.seconds for recompile in gone),
        least_saved_seconds=sum(
            least_seconds(reports[name], found) for name, found in by_frame.items() if alone[name]
        ),
    )


def _all_here(frame: FrameReport, found: Sequence[Recompile]) -> bool:
    return len(found) >= frame.compiles - frame.predicted.low
