"""Advice and source files to changed files: all marks of a call together, all calls of a file together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import libcst as cst

from pgo_advisor.patch.diff import unified
from pgo_advisor.patch.frame_inputs import FrameInputs, file_hashes
from pgo_advisor.patch.locate import Files, PathMap
from pgo_advisor.patch.marked_calls import Bounds, FrameCalls, MarkedCall
from pgo_advisor.patch.place import NoPlace
from pgo_advisor.patch.repository import default_root
from pgo_advisor.patch.result import FilePatch, Patch, Site, SiteOutcome
from pgo_advisor.patch.rewrite import Rewrite, rewrite
from pgo_advisor.patch.source_file import Edit, SourceFile
from pgo_advisor.report import Advice, FrameReport
from pgo_advisor.tables import Tables


def make_patch(
    frames: Sequence[FrameReport],
    advice: Sequence[Advice],
    tables: Tables,
    *,
    root: Path | None = None,
    maps: Sequence[PathMap] = (),
    bounds: Bounds = "none",
) -> Patch:
    """The marks that an analysis advises, at the calls that the trace recorded.

    Only files in `root` are changed (default: the git repository of the current directory, or that), none of
    installed packages. `maps` tell where recorded files are now. `bounds` are given to mark_dynamic: the
    smallest and the largest size seen, or two numbers; a size outside of them raises.
    """
    root = (root or default_root()).resolve()
    files = Files(root, maps, file_hashes(tables))
    found = list(_calls(frames, advice, files, FrameInputs(tables), bounds))
    edits: dict[SourceFile, list[Edit]] = defaultdict(list)
    marked = list(
        _carry_out([item for item in found if isinstance(item, MarkedCall)], files, edits)
    )
    patches = [
        FilePatch(source.path, files.name(source), source.content, source.changed(changes))
        for source, changes in edits.items()
        if changes
    ]
    return Patch(
        root=root,
        sites=(*marked, *(item for item in found if isinstance(item, Site))),
        files=tuple(sorted(patches, key=lambda file: file.name)),
        unmarkable=tuple(item for item in advice if item.code is None),
        notes=tuple(_notes(marked, bounds)),
    )


def _calls(
    frames: Sequence[FrameReport],
    advice: Iterable[Advice],
    files: Files,
    inputs: FrameInputs,
    bounds: Bounds,
) -> Iterator[Site | MarkedCall]:
    """The calls of all frames that marks are advised for."""
    wanted: dict[str, list[Advice]] = defaultdict(list)
    for item in advice:
        for id_ in item.frames if item.code else ():
            wanted[id_].append(item)
    advised = [frame for frame in frames if frame.id in wanted]
    files.read(frame.file for frame in advised)
    files.read(site.file for frame in advised for site in frame.call_sites)
    for frame in advised:
        yield from FrameCalls(frame, wanted[frame.id], frames, files, inputs, bounds)


def _carry_out(
    calls: Iterable[MarkedCall], files: Files, edits: dict[SourceFile, list[Edit]]
) -> Iterator[Site]:
    """Adds the changes of all calls to `edits`, those of one call together."""
    groups: dict[cst.Call, list[MarkedCall]] = defaultdict(list)
    for item in calls:
        groups[item.call].append(item)
    for call, items in groups.items():
        source = items[0].source
        marks = {mark.advice.pair: mark for item in items for mark in item.marks}
        try:
            made = rewrite(source, call, list(marks.values()), items[0].parameters)
            source.changed(made.edits)
            if _overlap(made.edits, edits[source]):
                raise NoPlace(
                    "another change is in the same place; apply this patch and make another"
                )
        except (NoPlace, cst.ParserSyntaxError) as error:
            for item in items:
                yield replace(item.site, reasons=(*item.site.reasons, str(error)))
            continue
        edits[source] += made.edits
        for item in items:
            yield _done(item, made, files.name(source))


def _done(item: MarkedCall, made: Rewrite, name: str) -> Site:
    own = {mark.advice.pair for mark in item.marks}
    marked, present = own & set(made.marked), own & set(made.present)
    if marked:
        outcome = SiteOutcome.marked
    elif present:
        outcome = SiteOutcome.present
    else:
        outcome = SiteOutcome.refused
    changed = item.source.changed(made.edits)
    return replace(
        item.site,
        outcome=outcome,
        reasons=tuple(dict.fromkeys((*item.site.reasons, *made.reasons))),
        statements=tuple(text.replace("\0", " ") for text in made.statements),
        marked=tuple(sorted(marked | present, key=str)),
        diff=unified(name, item.source.content, changed).decode("utf-8", "replace"),
    )


def _overlap(new: Iterable[Edit], old: Iterable[Edit]) -> bool:
    return any(
        a != b and a.start < max(b.end, b.start + 1) and b.start < max(a.end, a.start + 1)
        for a in new
        for b in old
    )


def _notes(marked: Iterable[Site], bounds: Bounds) -> Iterator[str]:
    if any("min=" in text for site in marked for text in site.statements):
        seen = "; the sizes that were seen are not all that can come."
        yield (
            "A tensor whose size is outside of min= and max= ends the program "
            f"(ConstraintViolationError){seen if bounds == 'observed' else '.'}"
        )
