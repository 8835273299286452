"""The analysis of a job: the report, its tables, and every form in which that can be shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from pgo_advisor.advice.advise import advise
from pgo_advisor.advice.words import Note, Said
from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.limits import TLPARSE_TIMEOUT, Limits
from pgo_advisor.report import Report
from pgo_advisor.tables import Tables

if TYPE_CHECKING:
    from pgo_advisor.patch import Bounds, Patch, PathMap


class Analysis(Report, frozen=True, kw_only=True, eq=False):
    """What a run left behind, and the advice from it."""

    hidden = frozenset({"tables", "reports"})

    tables: Tables
    reports: tuple[tuple[PurePath, Path], ...] = ()
    """Logs with tlparse's own reports of them, where these were wanted."""

    def env(self, fmt: str = "shell") -> str:
        """The environment variable in one of the formats of `pgo_advisor.render.env`."""
        from pgo_advisor.render.env import export

        return export(self, fmt)

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

    def to_text(self, *, width: int = 100, color: bool = False, verbose: bool = True) -> str:
        """The report for a terminal; without `verbose` in twenty lines."""
        from pgo_advisor.render.terminal import render_terminal

        return render_terminal(self, width=width, color=color, verbose=verbose)

    def to_html(
        self,
        *,
        patch: Patch | None = None,
        repo_url: str | None = None,
        directory: Path | None = None,
    ) -> str:
        """The report as one self-contained HTML page, see `pgo_advisor.render.html.render_html`."""
        from pgo_advisor.render.html import render_html

        return render_html(
            self,
            self.tables,
            patch=patch,
            repo_url=repo_url,
            reports=self.reports,
            directory=directory,
        )

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
    report = advise(read.tables, release)
    told = {
        "logs": tuple(map(str, read.logs)),
        "losses": read.losses,
        "notes": (*read.notes, *map(str, notes), *report.notes),
    }
    return Analysis(tables=read.tables, reports=read.reports, **asdict(report) | told)


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
