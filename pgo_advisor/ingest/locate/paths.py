"""Finds out what a path is by looking at it: a trace log, what tlparse made of one, a PGO profile."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import Literal

from pgo_advisor.errors import InputError, NothingFoundError
from pgo_advisor.ingest.console.containers import is_html
from pgo_advisor.ingest.console.messages import is_console, not_understood
from pgo_advisor.ingest.limits import Limits
from pgo_advisor.ingest.locate.archives import Unpacker, packing
from pgo_advisor.ingest.locate.fetch import Local, UrlPath, remote_parts
from pgo_advisor.ingest.pgo.mega_cache import is_mega_cache
from pgo_advisor.ingest.pgo.text import is_pgo_text
from pgo_advisor.ingest.trace.tlparse_parts import is_tlparse_parts

_RECORD = re.compile(
    rb"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\n]{0,4096}?\.py:\d+\] \{", re.MULTILINE
)
_RANK = re.compile(r"(?:^|_)rank_?(\d{1,7})(?:_|\.|$)")
_CODE_STATE = re.compile(r"code_state_(?P<job>.*)[_:](?P<rank>None|\d{1,7})[_:]", re.DOTALL)
_TRACE_NAME = "dedicated_log_torch_trace_"
"""Of logs in a TORCH_TRACE directory: `torch/_logging/_internal.py`, `LazyTraceHandler`."""
_OF_ONE_PROCESS = re.compile(r"rank_?\d+|\d+|log_\d+")
_PICKLED = b"torch._dynamo.pgo"
_HEAD = 1 << 20
_MAX_DEPTH = 6
_MAX_FILES = 100_000

WANTED = (
    "a TORCH_TRACE directory or log, a directory that tlparse wrote, a PGO profile, or what TORCH_LOGS "
    "printed"
)

Kind = Literal[
    "trace", "tlparse", "pgo", "pickle", "mega-cache", "console", "tlparse-parts", "remote"
]


@dataclass(frozen=True)
class Found:
    """One thing to be read.

    `rank` is what its name says, if it does. `shown` names it to the user: for what an archive held, the
    archive's path goes on into it. `job` is the directory below the path that was given. What is remote has
    to be fetched first, from `url`, and looked at.
    """

    kind: Kind
    path: Path
    rank: int | None
    shown: PurePath
    job: str
    url: str | None = None


class Finder:
    """Searches paths. `losses` says, in sentences, what could not be looked at."""

    def __init__(self, unpacker: Unpacker) -> None:
        self._unpacker = unpacker
        self._files = 0
        self.losses: list[str] = []

    def find(self, places: Iterable[Local]) -> list[Found]:
        """All inputs at the places, directories and archives searched through, each once, by rank and name.

        Raises InputError for a path that does not exist, and if none can be read or holds one.
        """
        found: dict[Path, Found] = {}
        errors: list[NothingFoundError] = []
        for path, shown in places:
            try:
                for item in self._find(path, shown):
                    found.setdefault(item.path.resolve(), item)
            except NothingFoundError as error:
                errors.append(error)
        if errors and not found:
            raise errors[0]
        self.losses += map(str, errors)
        items = sorted(
            found.values(), key=lambda item: (item.rank is None, item.rank or 0, str(item.shown))
        )
        return list(self._different(items))

    def _find(self, path: Path, shown: PurePath) -> list[Found]:
        try:
            if path.is_dir():
                return self._all_in(path, shown, str(shown))
            if not path.exists():
                raise InputError(f"{shown} does not exist; name {WANTED}")
            if not path.is_file():
                raise InputError(f"{shown} is no regular file; name {WANTED}")
            head = _head(path)
            if kind := packing(head):
                return self._all_in(self._unpacked(path, kind, shown), shown, f"{shown} ({kind})")
            if item := _look(path, head, shown, shown.parent):
                return [item]
        except OSError as error:
            raise NothingFoundError(f"{shown} cannot be read: {error.strerror}") from error
        if not head:
            raise NothingFoundError(
                f"{shown} is empty; was the program killed before it compiled anything?"
            )
        if said := not_understood(path):
            raise NothingFoundError(f"{shown} holds nothing that can be analysed: {said}")
        raise NothingFoundError(f"{shown} is nothing that can be analysed; name {WANTED}")

    def _all_in(self, directory: Path, shown: PurePath, named: str) -> list[Found]:
        if items := list(self._search(directory, shown, shown, _MAX_DEPTH)):
            return items
        raise NothingFoundError(
            f"{named} holds nothing that can be analysed{self._hint(directory, shown)}"
        )

    def _unpacked(self, path: Path, kind: str, shown: PurePath) -> Path:
        try:
            return self._unpacker.unpack(path, kind, shown)
        except InputError as error:
            raise NothingFoundError(str(error)) from error

    def _search(
        self, directory: Path, shown: PurePath, root: PurePath, depth: int
    ) -> Iterator[Found]:
        if (directory / "raw.jsonl").is_file():
            yield _found("tlparse", directory, shown, root)
            return
        entries = self._entries(directory, shown)
        if is_tlparse_parts(directory):
            log = directory / "raw.log"
            if log.is_file():
                yield replace(_found("tlparse", directory, shown, root), kind="trace", path=log)
                return
            if not any(entry.is_dir() and is_tlparse_parts(Path(entry)) for entry in entries):
                yield _found("tlparse-parts", directory, shown, root)
                return
        for entry in entries:
            if not entry.name.startswith("."):
                yield from self._search_entry(entry, shown / entry.name, root, depth)

    def _search_entry(
        self, entry: os.DirEntry[str], shown: PurePath, root: PurePath, depth: int
    ) -> Iterator[Found]:
        try:
            if entry.is_dir(follow_symlinks=False):
                if depth:
                    yield from self._search(Path(entry), shown, root, depth - 1)
            elif entry.is_file():
                yield from self._search_file(Path(entry), shown, root, depth)
        except InputError as error:
            self.losses.append(str(error))
        except OSError as error:
            self.losses.append(f"{shown} cannot be read: {error.strerror}")

    def _entries(self, directory: Path, shown: PurePath) -> list[os.DirEntry[str]]:
        with os.scandir(directory) as scan:
            entries = list(islice(scan, _MAX_FILES - self._files + 1))
        self._files += len(entries)
        if self._files > _MAX_FILES:
            self._files -= len(entries)
            raise NothingFoundError(
                f"{shown} holds too many files; name the trace directory itself"
            )
        return sorted(entries, key=lambda entry: entry.name)

    def _search_file(
        self, path: Path, shown: PurePath, root: PurePath, depth: int
    ) -> Iterator[Found]:
        head = _head(path)
        kind = packing(head)
        if kind and depth:
            unpacked = self._unpacker.unpack(path, kind, shown)
            yield from self._search(unpacked, shown, root, depth - 1)
        elif head and (item := _look(path, head, shown, root)):
            yield item
        elif path.name.startswith(_TRACE_NAME):
            what = "holds no record" if head else "is empty"
            self.losses.append(f"{shown} {what}: nothing is known of that process")

    def _different(self, items: Iterable[Found]) -> Iterator[Found]:
        """Without copies, as of a log beside its gzip."""
        starts = [(item, _size_and_start(item)) for item in items]
        alike = Counter(start for _, start in starts)
        first: dict[object, Found] = {}
        for item, start in starts:
            same = first.setdefault((start, _digest(item)), item) if alike[start] > 1 else item
            if same is item:
                yield item
            else:
                self.losses.append(f"{item.shown}: a copy of {same.shown}, counted once")

    def _hint(self, directory: Path, shown: PurePath) -> str:
        if losses := [*self.losses, *self._unpacker.losses]:
            return f": {losses[0]}"
        if not any(directory.iterdir()):
            return (
                ": it is empty; was the program run with TORCH_TRACE set to it, and did it compile?"
            )
        return f"; name {WANTED}"


def remote(url: str, limits: Limits) -> list[Found]:
    """What is at a URL, in parts that can be read for themselves; nothing of it is fetched.

    Raises InputError.
    """
    return [
        Found("remote", Path(), None, UrlPath(shown, below), _job(below.split("/")[:-1]), part)
        for part, shown, below in remote_parts(url, limits)
    ]


def _job(directories: Iterable[str]) -> str:
    return "/".join(name for name in directories if not _OF_ONE_PROCESS.fullmatch(name))


def choose_job(found: Sequence[Found], wanted: str | None) -> tuple[list[Found], list[str]]:
    """The inputs of one job, and what to say of the others. Raises InputError for a job that is none."""
    jobs = list(dict.fromkeys(item.job for item in found))
    names = ", ".join(job or "." for job in jobs[:8]) + (", …" if len(jobs) > 8 else "")
    if wanted is None:
        if len(jobs) == 1:
            return list(found), []
        return list(found), [f"{len(jobs)} jobs are analysed as one ({names}); --job chooses one"]
    chosen = [item for item in found if (item.job or ".") == wanted]
    if not chosen:
        raise InputError(f"no job is named {wanted}; there are: {names}")
    return chosen, []


def _look(path: Path, head: bytes, shown: PurePath, root: PurePath) -> Found | None:
    if _RECORD.search(head):
        return _found("trace", path, shown, root)
    if head.startswith(b'{"string_table":') or (
        path.name == "index.html" and (path.parent / "raw.jsonl").is_file()
    ):
        return _found("tlparse", path.parent, shown.parent, root)
    if head.startswith(b"\x80") and _PICKLED in head[:4096]:
        return _found("pickle", path, shown, root)
    if is_mega_cache(head):
        return _found("mega-cache", path, shown, root)
    text = head.decode("utf-8", errors="replace")
    if is_pgo_text(text) and not is_html(text):
        return _found("pgo", path, shown, root)
    if is_console(path):
        return _found("console", path, shown, root)
    return None


def _found(kind: Kind, path: Path, shown: PurePath, root: PurePath) -> Found:
    rank, own_job = _rank(shown.name), []
    if rank is None and shown.parent != root:
        rank = _rank(shown.parent.name)
    if shown.suffix == ".pkl" and (state := _CODE_STATE.match(shown.name)):
        rank = None if state["rank"] == "None" else int(state["rank"])
        own_job = [state["job"]]
    below = shown if kind in {"tlparse", "tlparse-parts"} else shown.parent
    parts = below.relative_to(root).parts if below.is_relative_to(root) else ()
    if parts and Path(parts[-1]).stem == shown.name:
        parts = parts[:-1]  # a file that is compressed by itself
    return Found(kind, path, rank, shown, "/".join(filter(None, [_job(parts), *own_job])))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _size_and_start(item: Found) -> object:
    """With the first bytes, where the logs of ranks that did the same differ by times and process ids.

    What cannot be read, as it was deleted since, is like nothing else: who reads it will tell.
    """
    try:
        with item.path.open("rb") as file:
            return item.kind, os.fstat(file.fileno()).st_size, file.read(4096)
    except OSError:
        return item.path


def _digest(item: Found) -> object:
    try:
        with item.path.open("rb") as file:
            digest = hashlib.blake2b()
            while chunk := file.read(_HEAD):
                digest.update(chunk)
            return digest.digest()
    except OSError:
        return item.path


def _rank(name: str) -> int | None:
    match = _RANK.search(name)
    return int(match[1]) if match else None
