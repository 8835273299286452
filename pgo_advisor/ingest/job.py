"""From paths to tables: finds what the paths are, has each of them read, and joins what they gave."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from pgo_advisor.errors import NoCompileError, NothingFoundError, PgoAdvisorError
from pgo_advisor.files import new_directory
from pgo_advisor.ingest.limits import TLPARSE_TIMEOUT, Limits
from pgo_advisor.ingest.locate.archives import Unpacker
from pgo_advisor.ingest.locate.fetch import Fetcher, is_url
from pgo_advisor.ingest.locate.paths import WANTED, Finder, Found, choose_job, remote
from pgo_advisor.ingest.rows import LogRows
from pgo_advisor.ingest.task import Read, Task
from pgo_advisor.ingest.trace.overlap import without_recorded
from pgo_advisor.ingest.trace.tlparse import find_tlparse
from pgo_advisor.ingest.workers import cores, run_tasks
from pgo_advisor.tables import Tables

_TOGETHER = 8 << 20
"""Bytes of logs that are read together. A run of tlparse takes some 30 ms, a log of 300 kB 4 ms more."""

_ROOM_IN_MEMORY = 1 << 30
"""Bytes; a group of small logs takes some 5 MB."""


@dataclass(frozen=True)
class Ingested:
    """The tables; what each log was, by the tables' column `log`; what was lost, in sentences.

    `reports` are logs with tlparse's own reports of them, where these were wanted. `notes` are what
    else is to be known of the inputs.
    """

    tables: Tables
    logs: tuple[PurePath, ...]
    reports: tuple[tuple[PurePath, Path], ...]
    losses: tuple[str, ...]
    notes: tuple[str, ...]


def ingest(
    paths: Iterable[str | os.PathLike[str]],
    *,
    job: str | None = None,
    timeout: float = TLPARSE_TIMEOUT,
    limits: Limits | None = None,
    full: Path | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Ingested:
    """Reads everything at the paths as one job; `-` is standard input, and URLs are read by fsspec.

    `job` takes only the inputs in a directory of that name below the paths. `timeout` is in seconds for
    each run of tlparse. `limits` bound what archives unpack to. `full` is a new directory for tlparse's
    reports of the whole logs. `cluster` is the address of a Dask scheduler that reads the logs, or `local`.
    `progress` is called with how many of how many logs are read. Raises InputError or TlparseError if
    nothing could be read, and ClusterError; what of several logs fails is told in `losses`.
    """
    limits = limits or Limits()
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgo-advisor-")))
        fetcher = Fetcher(temporary / "fetched", limits)
        unpacker = Unpacker(temporary / "unpacked", limits)
        finder = Finder(unpacker)
        given = list(paths)
        # the cluster fetches for itself
        urls = [os.fspath(path) for path in given if cluster and is_url(path)]
        near = [fetcher.fetch(path) for path in given if path not in urls]
        everything = [*(finder.find(near) if near else ()), *_remote(urls, limits)]
        found, remarks = choose_job(everything, job)
        if any(item.kind in {"trace", "remote"} for item in found):
            find_tlparse()
        elif full:
            remarks = [*remarks, "No log of a trace is here of which tlparse could write a report."]
            full = None
        reports = stack.enter_context(new_directory(full)) if full else None
        task = Task((), limits, timeout, at_once=1, scratch=None if cluster else temporary)
        in_memory = stack.enter_context(_in_memory()) if len(found) > 1 and not cluster else None
        read, failures = _read_all(found, task, reports, in_memory, cluster, progress)
    if not any(read.values()):
        if failures:
            raise failures[min(failures)]
        raise NothingFoundError(f"{given[0]} holds nothing that can be analysed; name {WANTED}")
    return _joined(
        [log for number in sorted(read) for log in read[number]],
        losses=[
            *finder.losses,
            *unpacker.losses,
            *(_failed(found[number], failures[number]) for number in failures),
        ],
        notes=remarks,
        reports=_reports(found, full),
    )


def _failed(item: Found, error: PgoAdvisorError) -> str:
    return f"{item.shown}: not analysed: {str(error).removeprefix(f'{item.shown}: ')}"


def _remote(urls: Iterable[str], limits: Limits) -> Iterator[Found]:
    for url in urls:
        yield from remote(url, limits)


def _reports(found: Sequence[Found], full: Path | None) -> list[tuple[PurePath, Path]]:
    """The logs that tlparse wrote a report of, each with its page."""
    if full is None:
        return []
    pages = (full / f"log_{number}" / "index.html" for number in range(len(found)))
    return [(item.shown, page) for item, page in zip(found, pages, strict=True) if page.exists()]


def _read_all(
    found: Sequence[Found],
    task: Task,
    reports: Path | None,
    in_memory: Path | None,
    cluster: str | None,
    progress: Callable[[int, int], None],
) -> tuple[dict[int, list[Read]], dict[int, PgoAdvisorError]]:
    """What each input gave, by its number, or why it failed; what fails of several is read again alone.

    `task` says how each is read; small ones that are read together have their temporary files `in_memory`.
    """
    read: dict[int, list[Read]] = {}
    failures: dict[int, PgoAdvisorError] = {}
    progress(0, len(found))
    groups = [[number] for number in range(len(found))] if reports else _together(found)
    while groups:
        at_once = max(1, cores() // len(groups))
        tasks = [
            replace(
                task,
                items=tuple(found[number] for number in group),
                at_once=at_once,
                report=reports and reports / f"log_{group[0]}",
                scratch=(in_memory if len(group) > 1 else None) or task.scratch,
            )
            for group in groups
        ]
        again: list[list[int]] = []
        for number, result in run_tasks(tasks, cluster):
            group = groups[number]
            if not isinstance(result, PgoAdvisorError):
                read.update(zip(group, result, strict=True))
            elif len(group) == 1:
                failures[group[0]] = result
            else:
                again += ([alone] for alone in group)
            progress(len(read) + len(failures), len(found))
        groups = again
    return read, failures


@contextmanager
def _in_memory() -> Iterator[Path | None]:
    """A temporary directory in memory; None where that has little room, or TMPDIR names another place.

    Of a small log tlparse makes some twenty files, which on a disk takes longer than all else.
    """
    place = Path("/dev/shm")  # noqa: S108
    try:
        roomy = "TMPDIR" not in os.environ and shutil.disk_usage(place).free > _ROOM_IN_MEMORY
        context = tempfile.TemporaryDirectory(prefix="pgo-advisor-", dir=place) if roomy else None
    except OSError:
        context = None
    if context is None:
        yield None
        return
    with context as directory:
        yield Path(directory)


def _together(found: Sequence[Found]) -> list[list[int]]:
    """The inputs by number, in groups that are read together: small trace logs, a few MB of them."""
    groups: list[list[int]] = []
    small: list[int] = []
    room = 0
    for number, item in enumerate(found):
        size = _bytes(item) if item.kind == "trace" else None
        if size is None or size >= _TOGETHER:
            groups.append([number])
            continue
        if size > room or not small:
            small, room = [], _TOGETHER
            groups.append(small)
        small.append(number)
        room -= size
    return groups


def _bytes(item: Found) -> int | None:
    """None if it was deleted since, which is told when it is read."""
    try:
        return item.path.stat().st_size
    except OSError:
        return None


def _joined(
    logs: list[Read],
    losses: Sequence[str],
    notes: Sequence[str],
    reports: Sequence[tuple[PurePath, Path]],
) -> Ingested:
    logs = _without_repeated(sorted(logs, key=lambda log: (log[0].rank is None, log[0].rank or 0)))
    losses = [*losses, *(f"{item.shown}: {loss}" for item, log in logs for loss in log.losses)]
    if not any(log.rows.get(table) for _, log in logs for table in ("compiles", "pgo_entries")):
        names = ", ".join(str(item.shown) for item, _ in logs[:3])
        for item, log in logs:
            if why := [*log.notes, *(log.losses if item.kind == "console" else ())]:
                raise NoCompileError(f"no compile is recorded in {names}: {why[0]}")
        lost = f" Lost: {losses[0]}" if losses else ""
        raise NoCompileError(
            f"no compile is recorded in {names}: was torch.compile reached, and not switched off "
            f"(TORCH_COMPILE_DISABLE, TORCHDYNAMO_DISABLE, set_stance)?{lost}"
        )
    return Ingested(
        tables=Tables.from_rows(_join(logs)),
        logs=tuple(item.shown for item, _ in logs),
        reports=tuple(reports),
        losses=tuple(losses),
        notes=(*notes, *(f"{item.shown}: {note}" for item, log in logs for note in log.notes)),
    )


def _without_repeated(logs: Sequence[Read]) -> list[Read]:
    """The logs, the console's without what traces tell as well."""
    traces = [(_rank(item, log), log) for item, log in logs if item.kind in {"trace", "tlparse"}]
    return [
        (item, without_recorded(log, traces) if item.kind == "console" else log)
        for item, log in logs
    ]


def _rank(item: Found, log: LogRows) -> int | None:
    return item.rank if log.rank is None else log.rank


def _join(logs: Sequence[Read]) -> dict[str, list[dict[str, Any]]]:
    """All logs' rows, with `log` and `rank`, and keys that are unique over the logs."""
    joined: dict[str, list[dict[str, Any]]] = defaultdict(list)
    compiles = frames = 0
    for number, (item, log) in enumerate(logs):
        own = log.rows.get("compiles", [])
        begins = {"compile": compiles, "against": compiles, "frame": frames}
        compiles += len(own)
        frames += 1 + max((row["frame"] for row in own), default=-1)
        rank = _rank(item, log)
        for table, rows in log.rows.items():
            for row in rows:
                row["log"] = number
                row.setdefault("rank", rank)
                for column, begin in begins.items():
                    if row.get(column) is not None:
                        row[column] += begin
            joined[table] += rows
    return joined
