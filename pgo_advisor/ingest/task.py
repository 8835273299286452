"""Reads one input: what a worker does, here or on another machine."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pgo_advisor.errors import InputError, NothingFoundError, TlparseError
from pgo_advisor.ingest.console.rows import read_console
from pgo_advisor.ingest.limits import Limits
from pgo_advisor.ingest.locate.archives import Unpacker
from pgo_advisor.ingest.locate.fetch import Fetcher
from pgo_advisor.ingest.locate.paths import Finder, Found
from pgo_advisor.ingest.pgo.mega_cache import pgo_state
from pgo_advisor.ingest.pgo.pickles import MAX_BYTES, read_code_state
from pgo_advisor.ingest.pgo.text import read_pgo_text
from pgo_advisor.ingest.rows import LogRows
from pgo_advisor.ingest.trace.collect import read_output, read_parts
from pgo_advisor.ingest.trace.export import OF_EXPORT, is_of_export
from pgo_advisor.ingest.trace.prefilter import Prefilter
from pgo_advisor.ingest.trace.repair import write_repaired
from pgo_advisor.ingest.trace.rows import log_rows
from pgo_advisor.ingest.trace.tlparse import TlparseStopped, run_tlparse
from pgo_advisor.ingest.trace.tlparse_parts import read_folders

Read = tuple[Found, LogRows]
"""What a process left, and the rows that it gave."""


@dataclass(frozen=True)
class Task:
    """How inputs are to be read: one, or several small trace logs, which tlparse reads together."""

    items: tuple[Found, ...]
    limits: Limits
    timeout: float
    """Seconds that tlparse may take for a part of a log."""
    at_once: int
    """How many tlparse may run at the same time."""
    scratch: Path | None
    """Where temporary files go; None for the system's place."""
    report: Path | None = None
    """Where tlparse's report of the whole log goes, if it is wanted."""

    def __call__(self) -> list[list[Read]]:
        """For each input, the rows of each process. Raises InputError or TlparseError.

        What fails of several inputs is told when each is read alone.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="pgo-advisor-", dir=self.scratch) as scratch:
                if self.items[0].kind == "trace":
                    return self._read_traces(Path(scratch))
                return [list(self._read(self.items[0], Path(scratch)))]
        except OSError as error:
            raise InputError(f"{self.items[0].shown} cannot be read: {error.strerror}") from error

    def _read(self, item: Found, scratch: Path) -> Iterator[Read]:
        if item.kind == "remote":
            yield from self._read_remote(item, scratch)
        elif item.kind == "trace":
            yield from replace(self, items=(item,))._read_traces(scratch)[0]
        elif item.kind in {"pgo", "pickle", "mega-cache"}:
            yield item, _read_profile(item)
        elif item.kind == "console":
            yield item, read_console(item.path)
        elif item.kind == "tlparse-parts":
            yield item, read_folders(item.path)
        else:
            yield item, log_rows(read_output(item.path))

    def _read_remote(self, remote: Found, scratch: Path) -> Iterator[Read]:
        unpacker = Unpacker(scratch / "unpacked", self.limits)
        finder = Finder(unpacker)
        fetched = Fetcher(scratch / "fetched", self.limits).fetch(remote.url or "")
        try:
            found = finder.find([fetched._replace(shown=remote.shown)])
        except NothingFoundError:
            return
        losses = [*finder.losses, *unpacker.losses]
        for number, item in enumerate(found):
            (scratch / str(number)).mkdir()
            for read, log in self._read(item, scratch / str(number)):
                yield read, replace(log, losses=[*losses, *log.losses])
                losses = []

    def _read_traces(self, scratch: Path) -> list[list[Read]]:
        if self.report is not None:
            self._write_report(self.report, scratch / "repaired.log")
        filtered = Prefilter([item.path for item in self.items], scratch / "parts")
        outputs, lost = self._parse(filtered.parts(), scratch / "tlparse")
        processes = read_parts(outputs, filtered)
        if len(self.items) > 1 and (lost or any(records.undecodable for records in processes)):
            raise InputError("something of several logs was lost, and it is not known of which")
        by_log: dict[int, list[tuple[str, LogRows]]] = defaultdict(list)
        for process, records in zip(filtered.processes, processes, strict=True):
            if records.compiles or records.undecodable:
                by_log[process.log].append((process.id, log_rows(records)))
        return [
            list(_of_log(item, by_log[number], [*filtered.losses[number], *lost]))
            for number, item in enumerate(self.items)
        ]

    def _parse(self, parts: Iterable[Path], output: Path) -> tuple[list[Path], list[str]]:
        """Runs tlparse on the parts as they come; what it wrote, and what was lost, in sentences."""
        output.mkdir()
        runs: dict[Path, Future[Counter[str]]] = {}
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for part in parts:
                    _raise_stopped(run for run in runs.values() if run.done())
                    place = output / part.stem
                    runs[place] = pool.submit(run_tlparse, part, place, timeout=self.timeout)
                _raise_stopped(runs.values())
            except TlparseStopped:
                pool.shutdown(cancel_futures=True)
                raise
        errors = [error for run in runs.values() if (error := run.exception())]
        outputs = [place for place, run in runs.items() if not run.exception()]
        if errors and (not outputs or not isinstance(errors[0], TlparseError)):
            raise errors[0]
        lost = sum((run.result() for run in runs.values() if not run.exception()), Counter[str]())
        sentences = [f"{number} {what}" for what, number in lost.items()]
        if errors:
            sentences.append(f"{len(errors)} of {len(runs)} parts are lost: {errors[0]}")
        return outputs, sentences

    def _write_report(self, report: Path, repaired: Path) -> None:
        log = self.items[0].path
        try:
            run_tlparse(log, report, timeout=self.timeout, plain=False)
        except TlparseStopped:
            raise
        except TlparseError:
            # it refuses the whole file for a byte that is no UTF-8, or for a line that is no record
            write_repaired(log, repaired)
            shutil.rmtree(report, ignore_errors=True)
            run_tlparse(repaired, report, timeout=self.timeout, plain=False)
            repaired.unlink()


def _raise_stopped(runs: Iterable[Future[Counter[str]]]) -> None:
    for run in runs:
        if isinstance(error := run.exception(), TlparseStopped):
            raise error


def _of_log(item: Found, processes: list[tuple[str, LogRows]], losses: list[str]) -> Iterator[Read]:
    """The rows of each process that wrote into a log; the first also tells what was lost of it."""
    if not processes:
        notes = [OF_EXPORT] if is_of_export(item.path) else []
        yield item, LogRows({}, None, [*losses, "it holds no record of a compile"], notes)
    for number, (process, log) in enumerate(processes):
        log.losses[:0] = losses if number == 0 else []
        name = f"{item.shown.name} (process {process})"
        shown = item.shown if len(processes) == 1 else item.shown.with_name(name)
        yield replace(item, shown=shown), log


def _read_profile(item: Found) -> LogRows:
    losses: list[str] = []
    try:
        if item.kind == "pgo":
            rows, losses = read_pgo_text(item.path)
        elif item.kind == "pickle":
            with item.path.open("rb") as file:
                rows = read_code_state(file.read(MAX_BYTES + 1))
        else:
            state, losses = pgo_state(item.path)
            rows = [] if state is None else read_code_state(state)
    except InputError as error:
        raise InputError(f"{item.shown}: {error}") from error
    entries = [{"artifact": item.shown.stem, **row} for row in rows]
    return LogRows({"pgo_entries": entries}, item.rank, losses)
