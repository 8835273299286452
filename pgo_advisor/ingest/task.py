"""Reads one input: what a worker does, here or on another machine."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pgo_advisor.errors import InputError, NothingFoundError, TlparseError
from pgo_advisor.ingest.console_rows import read_console
from pgo_advisor.ingest.fetch import Fetcher
from pgo_advisor.ingest.mega_cache import pgo_states
from pgo_advisor.ingest.paths import Finder, Found
from pgo_advisor.ingest.pgo_pickle import MOST_BYTES, read_code_state
from pgo_advisor.ingest.pgo_text import parse_pgo_text
from pgo_advisor.ingest.prefilter import prefilter
from pgo_advisor.ingest.repair import write_repaired
from pgo_advisor.ingest.rows import LogRows, read_log
from pgo_advisor.ingest.tlparse import TlparseStopped, run_tlparse
from pgo_advisor.ingest.tlparse_parts import read_parts
from pgo_advisor.ingest.unpack import Unpacker
from pgo_advisor.limits import Limits


@dataclass(frozen=True)
class Task:
    """How an input is to be read."""

    item: Found
    limits: Limits
    timeout: float
    """Seconds that tlparse may take for a part of a log."""
    at_once: int
    """How many tlparse may run at the same time."""
    scratch: Path | None
    """Where temporary files go; None for the system's place."""
    report: Path | None = None
    """Where tlparse's report of the whole log goes, if it is wanted."""

    def __call__(self) -> list[tuple[Found, LogRows]]:
        """The rows of each process. Raises InputError or TlparseError."""
        try:
            with tempfile.TemporaryDirectory(prefix="pgo-advisor-", dir=self.scratch) as scratch:
                return list(self._read(Path(scratch)))
        except OSError as error:
            raise InputError(f"{self.item.shown} cannot be read: {error.strerror}") from error

    def _read(self, scratch: Path) -> Iterator[tuple[Found, LogRows]]:
        item = self.item
        if item.kind == "remote":
            yield from self._read_remote(scratch)
        elif item.kind == "trace":
            if self.report is not None:
                self._write_report(self.report, scratch / "repaired.log")
            yield from self._read_trace(scratch)
        elif item.kind in {"pgo", "pickle", "mega-cache"}:
            yield item, _read_profile(item)
        elif item.kind == "console":
            yield item, read_console(item.path)
        elif item.kind == "tlparse-parts":
            yield item, read_parts(item.path)
        else:
            yield item, read_log(item.path)

    def _read_remote(self, scratch: Path) -> Iterator[tuple[Found, LogRows]]:
        unpacker = Unpacker(scratch / "unpacked", self.limits)
        finder = Finder(unpacker)
        fetched = Fetcher(scratch / "fetched", self.limits).fetch(self.item.url or "")
        try:
            found = finder.find([fetched._replace(shown=self.item.shown)])
        except NothingFoundError:
            return
        losses = [*finder.losses, *unpacker.losses]
        for number, item in enumerate(found):
            (scratch / str(number)).mkdir()
            for read, log in replace(self, item=item)._read(scratch / str(number)):
                yield read, replace(log, losses=[*losses, *log.losses])
                losses = []

    def _read_trace(self, scratch: Path) -> Iterator[tuple[Found, LogRows]]:
        filtered = prefilter(self.item.path, scratch / "parts")
        losses = list(filtered.losses)
        if not filtered.processes:
            yield self.item, LogRows({}, None, [*losses, "it holds no record of a compile"])
        for number, process in enumerate(filtered.processes):
            item = self.item
            if len(filtered.processes) > 1:
                item = replace(item, shown=Path(f"{item.shown} (process {process.id})"))
            output = scratch / "tlparse" / str(number)
            output.mkdir(parents=True)
            outputs, lost = self._parse(process.parts, output)
            log = read_log(*outputs)
            yield item, LogRows(log.rows, log.rank, [*losses, *lost, *log.losses])
            losses = []
            shutil.rmtree(output)

    def _parse(self, parts: Sequence[Path], output: Path) -> tuple[list[Path], list[str]]:
        """Runs tlparse on the parts; what it wrote, and what was lost, in sentences."""
        lost: Counter[str] = Counter()
        errors = []
        outputs = []
        with ThreadPoolExecutor(self.at_once) as pool:
            runs = {
                output / part.stem: pool.submit(
                    run_tlparse, part, output / part.stem, timeout=self.timeout
                )
                for part in parts
            }
            for place, run in runs.items():
                try:
                    lost += run.result()
                    outputs.append(place)
                except TlparseStopped:
                    pool.shutdown(cancel_futures=True)
                    raise
                except TlparseError as error:
                    errors.append(error)
        if not outputs:
            raise errors[0]
        sentences = [f"{number} {what}" for what, number in lost.items()]
        if errors:
            sentences.append(f"{len(errors)} of {len(parts)} parts are lost: {errors[0]}")
        return outputs, sentences

    def _write_report(self, report: Path, repaired: Path) -> None:
        try:
            run_tlparse(self.item.path, report, timeout=self.timeout, plain=False)
        except TlparseStopped:
            raise
        except TlparseError:
            # it refuses the whole file for a byte that is no UTF-8, or for a line that is no record
            write_repaired(self.item.path, repaired)
            shutil.rmtree(report, ignore_errors=True)
            run_tlparse(repaired, report, timeout=self.timeout, plain=False)
            repaired.unlink()


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
