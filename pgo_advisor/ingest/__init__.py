"""From paths to tables: finds what the paths are, runs tlparse on logs, reads its output."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgo_advisor.errors import InputError, NoCompileError, PgoAdvisorError
from pgo_advisor.files import new_directory
from pgo_advisor.ingest.console_rows import read_console
from pgo_advisor.ingest.fetch import Fetcher
from pgo_advisor.ingest.mega_cache import pgo_states
from pgo_advisor.ingest.overlap import without_recorded
from pgo_advisor.ingest.paths import Finder, Found, choose_job
from pgo_advisor.ingest.pgo_pickle import MOST_BYTES, read_code_state
from pgo_advisor.ingest.pgo_text import parse_pgo_text
from pgo_advisor.ingest.processes import split_processes
from pgo_advisor.ingest.repair import write_repaired
from pgo_advisor.ingest.rows import LogRows, read_log
from pgo_advisor.ingest.tlparse import TlparseTimeout, find_tlparse, run_tlparse, stop_all
from pgo_advisor.ingest.tlparse_parts import read_parts
from pgo_advisor.ingest.unpack import Unpacker
from pgo_advisor.limits import TLPARSE_TIMEOUT, Limits
from pgo_advisor.tables import Tables


@dataclass(frozen=True)
class Ingested:
    """The tables; what each log was, by the tables' column `log`; what was lost, in sentences.

    `notes` are what else is to be known of the inputs.
    """

    tables: Tables
    logs: tuple[Path, ...]
    losses: tuple[str, ...]
    notes: tuple[str, ...]


def ingest(
    paths: Iterable[str | os.PathLike[str]],
    *,
    job: str | None = None,
    timeout: float = TLPARSE_TIMEOUT,
    limits: Limits | None = None,
    keep: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Ingested:
    """Reads everything at the paths as one job; `-` is standard input, and URLs are read by fsspec.

    `job` takes only the inputs in a directory of that name below the paths. `timeout` is in seconds for
    each log. `limits` bound what archives unpack to. `keep` is a new directory that keeps what tlparse
    wrote. `progress` is called with how many of how many logs are read. Raises InputError or TlparseError
    if nothing could be read; what of several logs fails is told in `losses`.
    """
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgo-advisor-")))
        limits = limits or Limits()
        fetcher = Fetcher(temporary / "fetched", limits)
        unpacker = Unpacker(temporary / "unpacked", limits)
        finder = Finder(unpacker)
        found, remarks = choose_job(finder.find(map(fetcher.fetch, paths)), job)
        if any(item.kind == "trace" for item in found):
            find_tlparse()
        found = [
            part
            for number, item in enumerate(found)
            for part in (
                split_processes(item, temporary / "processes" / str(number))
                if item.kind == "trace"
                else [item]
            )
        ]
        output = temporary if keep is None else stack.enter_context(new_directory(keep))
        read = _ingest(found, output, timeout, progress, [*finder.losses, *unpacker.losses])
    return replace(read, notes=(*remarks, *read.notes))


def _ingest(
    found: Sequence[Found],
    scratch: Path,
    timeout: float,
    progress: Callable[[int, int], None],
    losses: list[str],
) -> Ingested:
    results: dict[int, LogRows] = {}
    failures: dict[int, PgoAdvisorError] = {}
    progress(0, len(found))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        tasks = {
            pool.submit(_read, item, scratch / f"log_{number}", timeout): number
            for number, item in enumerate(found)
        }
        try:
            for task in as_completed(tasks):
                try:
                    results[tasks[task]] = task.result()
                except PgoAdvisorError as error:
                    failures[tasks[task]] = error
                progress(len(results) + len(failures), len(found))
        except BaseException:
            # who interrupts an analysis does not wait for tlparse
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise
    if not results:
        raise failures[min(failures)]
    traces = [
        (found[number].rank if log.rank is None else log.rank, log)
        for number, log in results.items()
        if found[number].kind in {"trace", "tlparse"}
    ]
    for number, log in results.items():
        if found[number].kind == "console":
            results[number] = without_recorded(log, traces)
    losses += (f"{found[number].shown}: not analysed: {why}" for number, why in failures.items())
    for number in sorted(results):
        losses += (f"{found[number].shown}: {loss}" for loss in results[number].losses)
    if not any(
        log.rows.get(table) for log in results.values() for table in ("compiles", "pgo_entries")
    ):
        names = ", ".join(str(item.shown) for item in found[:3])
        raise NoCompileError(
            f"no compile is recorded in {names}: was torch.compile reached, and not switched off "
            "(TORCH_COMPILE_DISABLE, TORCHDYNAMO_DISABLE, set_stance)?"
        )
    return Ingested(
        tables=Tables.from_rows(_join(found, results)),
        logs=tuple(item.shown for item in found),
        losses=tuple(losses),
        notes=tuple(
            f"{found[number].shown}: {note}"
            for number in sorted(results)
            for note in results[number].notes
        ),
    )


def _read(item: Found, output: Path, timeout: float) -> LogRows:
    try:
        if item.kind in {"pgo", "pickle", "mega-cache"}:
            return _read_profile(item)
        if item.kind == "console":
            return read_console(item.path)
        if item.kind == "tlparse-parts":
            return read_parts(item.path)
        if item.kind == "tlparse":
            return read_log(item.path)
        lost = _run_tlparse(item.path, output, timeout)
        log = read_log(output)
    except OSError as error:
        raise InputError(f"{item.shown} cannot be read: {error.strerror}") from error
    return LogRows(log.rows, log.rank, lost + log.losses)


def _read_profile(item: Found) -> LogRows:
    losses: list[str] = []
    if item.kind == "pgo":
        rows = parse_pgo_text(item.path.read_text("utf-8", errors="replace"))
    elif item.kind == "pickle":
        with item.path.open("rb") as file:
            rows = read_code_state(file.read(MOST_BYTES + 1))
    else:
        states, losses = pgo_states(item.path)
        # PyTorch puts them one after the other into the same place
        rows = read_code_state(states[-1][1]) if states else []
    entries = [{"artifact": item.shown.stem, **row} for row in rows]
    return LogRows({"pgo_entries": entries}, item.rank, losses)


def _run_tlparse(log: Path, output: Path, timeout: float) -> list[str]:
    try:
        return run_tlparse(log, output, timeout=timeout)
    except TlparseTimeout:
        raise
    except PgoAdvisorError:
        # it refuses the whole file for a byte that is no UTF-8, or for a line that is no record
        repaired = output.with_suffix(".log")
        lost = write_repaired(log, repaired)
        if not lost:
            repaired.unlink()
            raise
    shutil.rmtree(output, ignore_errors=True)
    try:
        return [*lost, *run_tlparse(repaired, output, timeout=timeout)]
    finally:
        repaired.unlink()


def _join(
    found: Sequence[Found], results: Mapping[int, LogRows]
) -> dict[str, list[dict[str, Any]]]:
    """All logs' rows, with `log` and `rank`, and keys that are unique over the logs."""
    joined: dict[str, list[dict[str, Any]]] = defaultdict(list)
    compiles = frames = 0
    for number in sorted(results):
        log = results[number]
        rank = found[number].rank if log.rank is None else log.rank
        for table, rows in log.rows.items():
            for row in rows:
                row["log"] = number
                row.setdefault("rank", rank)
                for column, offset in (
                    ("compile", compiles),
                    ("against", compiles),
                    ("frame", frames),
                ):
                    if row.get(column) is not None:
                        row[column] += offset
                joined[table].append(row)
        own = log.rows.get("compiles", [])
        compiles += len(own)
        frames += 1 + max((row["frame"] - frames for row in own), default=-1)
    return joined
