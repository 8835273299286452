"""Which processes of a job compiled alike: of a thousand ranks, one of each kind has to be looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from pgo_advisor.advice.words import Differs, Said
from pgo_advisor.replay.frames import UNKNOWN, rows
from pgo_advisor.report import ProcessGroup, Recompile
from pgo_advisor.tables import Tables

_MAX_FUNCTIONS = 3


def group_processes(tables: Tables, recompiles: Iterable[Recompile]) -> tuple[ProcessGroup, ...]:
    """The processes in groups, the largest first."""
    causes = {
        found.compile: tuple((c.kind, c.source, c.dim) for c in found.causes[:1])
        for found in recompiles
    }
    compiles: dict[int, list[object]] = defaultdict(list)
    functions: dict[int, Counter[str]] = defaultdict(Counter)
    ranks: dict[int, int | None] = {}
    cut: set[int] = set()
    for row in rows(tables.compiles):
        log, name = row["log"], row["name"] or UNKNOWN
        what = (name, row["file"], row["line"], row["outcome"], causes.get(row["compile"]))
        compiles[log].append(what)
        functions[log][name] += 1
        cut |= {log} if row["outcome"] == "unknown" else set()
        ranks[log] = row["rank"]
    groups: dict[object, list[int]] = defaultdict(list)
    for log, behaviour in compiles.items():
        groups[tuple(behaviour)].append(log)
    ordered = sorted(groups.values(), key=lambda logs: (-len(logs), logs))
    return tuple(
        ProcessGroup(
            logs=tuple(logs),
            ranks=tuple(sorted({rank for log in logs if (rank := ranks[log]) is not None})),
            compiles=len(compiles[logs[0]]),
            differs=tuple(
                map(str, _differs(functions[logs[0]], functions[ordered[0][0]], cut=logs[0] in cut))
            ),
        )
        for logs in ordered
    )


def _differs(own: Counter[str], common: Counter[str], *, cut: bool) -> Iterator[Said]:
    if cut:
        yield Differs.cut()
    names = [name for name in {**own, **common} if own[name] != common[name]]
    for name in names[:_MAX_FUNCTIONS]:
        s = "" if own[name] == 1 else "s"
        yield Differs.number(name=name, own=own[name], s=s, common=common[name])
    if len(names) > _MAX_FUNCTIONS:
        yield Differs.more(number=len(names) - _MAX_FUNCTIONS)
    if not names and own is not common and not cut:
        yield Differs.order()
