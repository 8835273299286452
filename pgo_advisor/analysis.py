"""The analysis of a job: its tables, what they mean, and every form in which that can be shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgo_advisor.advice.advise import Advised, advise
from pgo_advisor.advice.ranks import ProcessGroup, group_processes
from pgo_advisor.advice.words import Note, Said, listed
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.dynamo.source_list import SourceList, entries_of
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.limits import TLPARSE_TIMEOUT, Limits
from pgo_advisor.measured import Measured
from pgo_advisor.ranges import Range
from pgo_advisor.report import Advice, Finding, FrameReport, Recompile
from pgo_advisor.tables import Tables

if TYPE_CHECKING:
    from pgo_advisor.patch import Bounds, Patch, PathMap


@dataclass(frozen=True)
class Totals:
    """Sums over all logs. Seconds are those that the trace gives for each compile, added up."""

    compiles: int
    recompiles: int
    seconds: float
    recompile_seconds: float
    predicted: Range
    """Compiles with all of the advice."""
    saved_seconds: float
    """Of the recorded compiles that the advice is predicted to remove."""
    unknown_causes: int
    unfinished: int
    """Compiles within which the log ends."""


@dataclass(frozen=True)
class Analysis:
    """What a run left behind, and the advice from it."""

    tables: Tables
    logs: tuple[Path, ...]
    """What each log was, by the tables' column `log`."""
    losses: tuple[str, ...]
    """What could not be read, in sentences."""
    notes: tuple[str, ...]
    """What the reader has to know of the advice, in sentences."""
    release: TorchRelease | None
    """The PyTorch that the advice is written for; None if neither the trace nor the caller told."""
    advised: Advised
    measured: Measured | None = None
    """What runs of the program without and with the advice showed, if `verify` ran it."""
    reports: tuple[tuple[Path, Path], ...] = ()
    """Logs with tlparse's own reports of them, where these were wanted."""

    @property
    def frames(self) -> tuple[FrameReport, ...]:
        """Compiled functions with their verdicts, the most expensive first."""
        return self.advised.frames

    @property
    def recompiles(self) -> tuple[Recompile, ...]:
        """Every recompile with its causes, in time."""
        return self.advised.recompiles

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to declare dynamic, the most valuable first."""
        return self.advised.advice

    @property
    def inputs(self) -> int:
        """How many inputs are to be declared; one of several functions counts once."""
        return len({item.pair for item in self.advice})

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What no declaration cures, the most expensive first."""
        return self.advised.findings

    @cached_property
    def processes(self) -> tuple[ProcessGroup, ...]:
        """The processes in groups of those that compiled alike, the largest first."""
        return group_processes(self.tables, self.recompiles)

    @cached_property
    def shown_recompiles(self) -> tuple[tuple[str, Recompile], ...]:
        """The recompiles of one process of each group, with the ranks of the group, as `label` has them."""
        ranks = {group.logs[0]: group.label for group in self.processes}
        compiles = self.tables.compiles
        log_of = dict(zip(compiles["compile"].tolist(), compiles["log"].tolist(), strict=True))
        return tuple(
            (ranks[log_of[recompile.compile]], recompile)
            for recompile in self.recompiles
            if log_of[recompile.compile] in ranks
        )

    @property
    def dynamic_sources(self) -> str:
        """The value of TORCH_COMPILE_DYNAMIC_SOURCES; empty if nothing is to be declared.

        What the list held in the recorded run stays in it: that run shows no need of it, since it works.
        """
        return self._beside_those_in_force(self.advised.dynamic_sources)

    @property
    def dynamic_sources_beside_unbacked(self) -> str:
        """The same for use together with `advised.unbacked_sources`; empty if there are none."""
        if not self.advised.unbacked_sources.entries:
            return ""
        return self._beside_those_in_force(self.advised.beside_unbacked)

    def _beside_those_in_force(self, listed: SourceList) -> str:
        entries = [
            entry for value in (*self.lists_in_force, listed.value) for entry in entries_of(value)
        ]
        return ",".join(dict.fromkeys(entries))

    @cached_property
    def lists_in_force(self) -> tuple[str, ...]:
        """The lists of dynamic sources under which the recorded compiles ran, where the trace tells."""
        recorded = self.tables.compiles["dynamic_sources"].dropna().unique().tolist()
        return tuple(value for value in recorded if value)

    @cached_property
    def totals(self) -> Totals:
        return Totals(
            compiles=sum(frame.compiles for frame in self.frames),
            recompiles=len(self.recompiles),
            seconds=sum(frame.seconds for frame in self.frames),
            recompile_seconds=sum(recompile.seconds for recompile in self.recompiles),
            predicted=sum((frame.predicted for frame in self.frames), Range(0, 0)),
            saved_seconds=sum(frame.saved_seconds for frame in self.frames),
            unfinished=int((self.tables.compiles["outcome"] == "unknown").sum()),
            unknown_causes=sum(
                recompile.causes[0].kind is CauseKind.unknown for recompile in self.recompiles
            ),
        )

    def env(self, fmt: str = "shell") -> str:
        """The environment variable in one of the formats of `pgo_advisor.render.env`."""
        from pgo_advisor.render.env import render_env

        value = self.dynamic_sources
        return render_env({"TORCH_COMPILE_DYNAMIC_SOURCES": value} if value else {}, fmt)

    def snippet(self) -> str:
        """Python statements that mark what can be marked, grouped by call site."""
        from pgo_advisor.render.snippet import render_snippet

        return render_snippet(self)

    def patch(
        self,
        *,
        root: Path | None = None,
        maps: Sequence[PathMap] = (),
        bounds: Bounds = "none",
    ) -> Patch:
        """The marks as changes to the source files, see `pgo_advisor.patch.make_patch`."""
        from pgo_advisor.patch import make_patch

        return make_patch(
            self.frames, self.advice, self.tables, root=root, maps=maps, bounds=bounds
        )

    def to_text(self, *, width: int = 100, color: bool = False) -> str:
        """The report for a terminal."""
        from pgo_advisor.render.terminal import render_terminal

        return render_terminal(self, width=width, color=color)

    def to_html(
        self,
        *,
        patch: Patch | None = None,
        repo_url: str | None = None,
        directory: Path | None = None,
    ) -> str:
        """The report as one self-contained HTML page, see `pgo_advisor.render.html.render_html`."""
        from pgo_advisor.render.html import render_html

        return render_html(self, patch=patch, repo_url=repo_url, directory=directory)

    def to_markdown(self, *, patch: Patch | None = None, repo_url: str | None = None) -> str:
        """A pull-request comment of at most 65,536 characters, with a patch's changes if one is given."""
        from pgo_advisor.render.markdown import render_markdown

        return render_markdown(self, patch=patch, repo_url=repo_url)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, by the schema that `pgo_advisor.render.json.schema()` returns."""
        from pgo_advisor.render.json import as_dict

        return as_dict(self)

    def to_json(self) -> str:
        """The same as JSON text."""
        from pgo_advisor.render.json import render_json

        return render_json(self)

    def _repr_html_(self) -> str:
        from pgo_advisor.render.html import render_notebook

        return render_notebook(self)

    def __repr__(self) -> str:
        totals = self.totals
        return (
            f"<Analysis: {totals.compiles} compiles, {totals.recompiles} recompiles, "
            f"{self.inputs} inputs to declare>"
        )


def analyze(
    *paths: str | os.PathLike[str],
    torch_version: str | None = None,
    job: str | None = None,
    timeout: float = TLPARSE_TIMEOUT,
    limits: Limits | None = None,
    full: Path | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Analysis:
    """Analyses what a run of torch.compile left behind at the paths, as one job.

    A path is a TORCH_TRACE directory, a trace log, a directory that tlparse wrote, a PGO profile (text,
    pickle, mega-cache, a cache directory), or what TORCH_LOGS printed, each also compressed or in an archive;
    `-` is standard input, and a URL is read by fsspec, if that is installed.
    `job` names a directory below the paths if they hold several jobs. `torch_version` is the release that
    the advice is for, where the trace does not say or another one is meant. `timeout` is in seconds for
    each run of tlparse; `limits` bound what archives unpack to; `full` is a new directory for tlparse's own
    reports of the whole logs. `cluster` is the address of a Dask scheduler that has the logs read, or
    `local` for one of this machine's own.

    Raises InputError, TlparseError, ClusterError (all PgoAdvisorError), and ValueError for a version that
    is none.
    """
    wanted = None if torch_version is None else TorchRelease.parse(torch_version)
    read = ingest(
        paths,
        job=job,
        timeout=timeout,
        limits=limits,
        full=full,
        cluster=cluster,
        progress=progress,
    )
    release, notes = _release(read.tables, wanted)
    advised = advise(read.tables, release)
    return Analysis(
        tables=read.tables,
        logs=read.logs,
        losses=read.losses,
        notes=(*read.notes, *map(str, notes), *_notes(advised, read.tables)),
        release=release,
        advised=advised,
        reports=read.reports,
    )


def _release(tables: Tables, wanted: TorchRelease | None) -> tuple[TorchRelease | None, list[Said]]:
    """The release to advise for, and what to say of it."""
    recorded = _recorded_releases(tables)
    told = ", ".join(str(release) for release in sorted(recorded) if release != wanted)
    if wanted is not None:
        if not recorded or any(map(wanted.includes, recorded)):
            return wanted, []
        return wanted, [Note.other_release(recorded=told, wanted=wanted)]
    if len(recorded) > 1:
        return None, [Note.several_releases(releases=told)]
    if recorded:
        return recorded.pop(), []
    hashes = tables.pgo_entries["file_hash"]
    old = len(hashes) and hashes.isna().all()
    return None, [Note.old_release() if old else Note.no_release()]


def _recorded_releases(tables: Tables) -> set[TorchRelease]:
    recorded = set()
    for text in tables.compiles["torch_version"].dropna().unique():
        with suppress(ValueError):
            recorded.add(TorchRelease.parse(text))
    return recorded


def _notes(advised: Advised, tables: Tables) -> Iterator[str]:
    for value in tables.compiles["dynamic_sources"].dropna().unique():
        if value:
            yield str(Note.in_force(value=value))
    if tables.compiles.drop_duplicates("log")["rank"].duplicated().any():
        yield str(Note.same_rank())
    yield from advised.dynamic_sources.notes
    touching = [advice for advice in advised.advice if advice.also_touches and advice.list_entry]
    if touching:
        yield str(_touches(touching))
    yield from advised.notes
    if (tables.compiles["recorded_by"] == "console").any():
        yield str(Note.console())
    if not len(tables.compiles):
        yield str(Note.profile_alone())


def _touches(touching: Sequence[Advice]) -> Said:
    frames = list(dict.fromkeys(name for advice in touching for name in advice.also_touches))
    by_mark = all(advice.code for advice in touching)
    return Note.touches(
        entries=", ".join(dict.fromkeys(advice.list_entry or "" for advice in touching[:4])),
        frames=listed(frames, 4, " and {} more"),
        marks="; marks in the code (pgo-advisor snippet) do not" if by_mark else "",
    )
