"""The advice as a change of the source: marks before the calls of the compiled functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import libcst as cst

from pgo_advisor.dynamo.sources import parse
from pgo_advisor.patch.calls import (
    NoCall,
    Wrapped,
    calls_alike,
    calls_in_file,
    calls_on_line,
    is_compiled,
    reached_from,
    wrapper_around,
)
from pgo_advisor.patch.diff import unified
from pgo_advisor.patch.expressions import in_display
from pgo_advisor.patch.locate import Files, NotFound, PathMap, find_line
from pgo_advisor.patch.place import NoPlace
from pgo_advisor.patch.recorded import Recorded
from pgo_advisor.patch.repository import default_root, refusal
from pgo_advisor.patch.result import FilePatch, Outcome, Patch, Site
from pgo_advisor.patch.rewrite import Rewrite, Want, rewrite, unmarked
from pgo_advisor.patch.signature import (
    NoArgument,
    Parameters,
    bind,
    find_function,
    of_torch_wrapper,
    only_function,
    parameters,
)
from pgo_advisor.patch.source_file import Edit, SourceFile
from pgo_advisor.report import Advice, CallSite, FrameReport

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis

__all__ = ["FilePatch", "Outcome", "Patch", "PathMap", "Site", "make_patch"]

Bounds = Literal["none", "observed"] | tuple[int, int]


@dataclass
class _Found:
    """A call to be marked, with the site that it comes from."""

    site: Site
    source: SourceFile
    call: cst.Call
    wants: list[Want]
    told: Parameters | None


def make_patch(
    analysis: Analysis,
    *,
    root: Path | None = None,
    maps: Sequence[PathMap] = (),
    bounds: Bounds = "none",
) -> Patch:
    """The marks that the analysis advises, at the calls that the trace recorded.

    Only files in `root` are changed (default: the git repository of the current directory, or that), none of
    installed packages. `maps` tell where recorded files are now. `bounds` are given to mark_dynamic: the
    smallest and the largest size seen, or two numbers; a size outside of them raises.
    """
    root = (root or default_root()).resolve()
    recorded = Recorded(analysis)
    maker = _Maker(analysis, recorded, root, Files(root, maps, recorded.hashes), bounds)
    sites: list[Site] = []
    found: list[_Found] = []
    for frame in analysis.frames:
        advice = [item for item in analysis.advice if frame.id in item.frames and item.code]
        if advice:
            for result in maker.sites(frame, advice):
                (sites if isinstance(result, Site) else found).append(result)  # type: ignore[arg-type]
    marked, files = maker.carry_out(found)
    return Patch(
        root=root,
        sites=(*marked, *sites),
        files=tuple(files),
        unmarkable=tuple(item for item in analysis.advice if item.code is None),
        notes=tuple(maker.notes(marked)),
    )


class _Maker:
    def __init__(
        self, analysis: Analysis, recorded: Recorded, root: Path, files: Files, bounds: Bounds
    ) -> None:
        self._analysis = analysis
        self._recorded = recorded
        self._root = root
        self._files = files
        self._bounds = bounds

    def sites(self, frame: FrameReport, advice: Sequence[Advice]) -> Iterator[Site | _Found]:
        """The calls of a frame, or for each why it is none to be marked."""
        told, function = self._parameters(frame)
        done: dict[cst.Call, None] = {}
        wrapped = False
        files: dict[SourceFile, None] = {}
        for recorded in frame.call_sites:
            site = _site(frame, recorded)
            try:
                for result in self._at(frame, site, recorded, advice, told):
                    yield result
                    if isinstance(result, _Found):
                        done[result.call] = None
                        files[result.source] = None
            except (NotFound, NoCall) as error:
                path = self._files.path(recorded.file)
                yield replace(site, path=path, reasons=(str(error),))
                wrapped |= isinstance(error, Wrapped)
        if not frame.call_sites or (wrapped and not done):
            yield from self._in_source(frame, advice, told, function)
        for source in files:
            alike = [other for call in done for other in calls_alike(source, call)]
            if source.path == self._files.path(frame.file):
                alike += calls_in_file(source, frame.name, function)
            for call in dict.fromkeys(alike):
                if call not in done:
                    yield self._in_text(frame, source, call, advice, told)

    def _at(
        self,
        frame: FrameReport,
        site: Site,
        recorded: CallSite,
        advice: Sequence[Advice],
        told: Parameters | None,
    ) -> Iterator[Site | _Found]:
        if recorded.through:
            raise NoCall(
                f"the call itself is made by library code that this line calls ({recorded.through})"
            )
        if reason := refusal(self._files.path(recorded.file), self._root):
            raise NotFound(reason)
        source = self._files.source(recorded.file)
        unchanged = self._files.is_traced(recorded.file, source)
        place = find_line(source, recorded.line, recorded.code, unchanged)
        site = replace(site, path=source.path, found_line=place.line)
        for call in calls_on_line(source, place.line, frame.name, told):
            if name := wrapper_around(source, call):
                raise Wrapped(
                    f"the call is in {name}, which calls whatever it is given with whatever it is given"
                )
            if place.patched:
                yield replace(site, outcome=Outcome.present)
            else:
                yield self._found(frame, site, source, call, advice, told)

    def _in_source(
        self,
        frame: FrameReport,
        advice: Sequence[Advice],
        told: Parameters | None,
        function: cst.FunctionDef | cst.Lambda | None,
    ) -> Iterator[Site | _Found]:
        """The calls in the function's own file, where the trace does not tell who calls it."""
        site = Site(frame.id, frame.file, frame.line, None, Outcome.refused, in_source=True)
        untold = "the trace does not tell who calls it"
        path = self._files.path(frame.file)
        try:
            if reason := refusal(path, self._root):
                raise NotFound(reason)
            source = self._files.source(frame.file)
        except NotFound as error:
            yield replace(site, path=path, reasons=(f"{untold}, and {error}",))
            return
        calls = calls_in_file(source, frame.name, function) if function else []
        if not calls:
            reason = f"{untold}, and its file shows no call of it"
            yield replace(site, path=path, reasons=(reason,))
        for call in calls:
            yield self._in_text(frame, source, call, advice, told)

    def _in_text(
        self,
        frame: FrameReport,
        source: SourceFile,
        call: cst.Call,
        advice: Sequence[Advice],
        told: Parameters | None,
    ) -> Site | _Found:
        line = source.lines(call)[0]
        site = Site(
            frame.id,
            str(source.path),
            line,
            source.line_text(line),
            Outcome.refused,
            path=source.path,
            found_line=line,
            in_source=True,
        )
        if name := self._traced_around(source, call):
            reason = (
                f"the call is in {name}, which compiled code calls: a mark cannot be traced there"
            )
            return replace(site, reasons=(reason,))
        return self._found(frame, site, source, call, advice, told)

    def _found(
        self,
        frame: FrameReport,
        site: Site,
        source: SourceFile,
        call: cst.Call,
        advice: Sequence[Advice],
        told: Parameters | None,
    ) -> Site | _Found:
        if name := self._compiled_around(source, call):
            reason = (
                f"the call is in {name}, which is compiled itself: a mark cannot be traced there"
            )
            return replace(site, reasons=(reason,))
        wants, reasons = [], []
        for item in advice:
            origin = parse(item.source)
            try:
                bound = bind(call, told, origin)
                condition = self._recorded.condition(frame, item.source)
                lacking = self._recorded.lacks(frame, item.source)
                deeper = in_display(bound).steps or isinstance(bound.unpacked, int)
                if deeper and (condition or lacking):
                    raise NoArgument("not every recorded call read it, so it may not be there")
                if lacking and bound.unpacked is not None:
                    bound = replace(bound, optional=True)
                wants.append(Want(item, bound, condition, self._limits(item)))
            except NoArgument as error:
                reasons.append(unmarked(item, error))
        site = replace(site, reasons=tuple(dict.fromkeys(reasons)))
        return _Found(site, source, call, wants, told) if wants else site

    def _parameters(
        self, frame: FrameReport
    ) -> tuple[Parameters | None, cst.FunctionDef | cst.Lambda | None]:
        """The compiled function's parameters and its node, if its source file is at hand."""
        if told := of_torch_wrapper(frame.file, frame.name):
            return told, None
        try:
            source = self._files.source(frame.file)
        except NotFound:
            return None, None
        function = None
        if self._files.is_traced(frame.file, source) is not False:
            function = find_function(source, frame.name, frame.line)
        function = function or only_function(source, frame.name)
        if function is None:
            return None, None
        inputs = [parse(name) for name in self._recorded.inputs(frame)]
        return parameters(source, function, inputs), function

    def _compiled_around(self, source: SourceFile, call: cst.Call) -> str | None:
        """The compiled function whose code the call is in."""
        for node in source.ancestors(call):
            if isinstance(node, cst.FunctionDef):
                if is_compiled(node):
                    return node.name.value
                for frame in self._analysis.frames:
                    if (
                        frame.name == node.name.value
                        and self._files.path(frame.file) == source.path
                        and find_function(source, frame.name, frame.line) is node
                    ):
                        return frame.name
        return None

    def _traced_around(self, source: SourceFile, call: cst.Call) -> str | None:
        """The function with the call if the file shows that compiled code calls it."""
        compiled = [
            f.name for f in self._analysis.frames if self._files.path(f.file) == source.path
        ]
        reached = reached_from(source, compiled)
        around = (n.name.value for n in source.ancestors(call) if isinstance(n, cst.FunctionDef))
        return next((name for name in around if name in reached), None)

    def _limits(self, advice: Advice) -> tuple[int, int] | None:
        if self._bounds == "none":
            return None
        if self._bounds != "observed":
            return self._bounds
        sizes = [value for value in advice.values if isinstance(value, int)]
        return (min(sizes), max(sizes)) if sizes else None

    def carry_out(self, found: Iterable[_Found]) -> tuple[list[Site], list[FilePatch]]:
        """Makes the changes of all calls, those of one call together, file by file."""
        groups: dict[cst.Call, list[_Found]] = defaultdict(list)
        for item in found:
            groups[item.call].append(item)
        sites: list[Site] = []
        edits: dict[SourceFile, list[Edit]] = defaultdict(list)
        for call, items in groups.items():
            source = items[0].source
            wants = {want.advice.pair: want for item in items for want in item.wants}
            try:
                made = rewrite(source, call, list(wants.values()), items[0].told)
                source.changed(made.edits)
                if _overlap(made.edits, edits[source]):
                    raise NoPlace(
                        "another change is in the same place; apply this patch and make another"
                    )
            except (NoPlace, cst.ParserSyntaxError) as error:
                reason = str(error)
                sites += [
                    replace(item.site, reasons=(*item.site.reasons, reason)) for item in items
                ]
                continue
            edits[source] += made.edits
            name = source.path.relative_to(self._root).as_posix()
            sites += [_done(item, made, name) for item in items]
        patches = []
        for source, changes in edits.items():
            if changes:
                name = source.path.relative_to(self._root).as_posix()
                patches.append(
                    FilePatch(source.path, name, source.content, source.changed(changes))
                )
        return sites, sorted(patches, key=lambda file: file.name)

    def notes(self, marked: Iterable[Site]) -> Iterator[str]:
        if self._bounds != "none" and any(
            "min=" in text for site in marked for text in site.statements
        ):
            yield (
                "A tensor whose size is outside of min= and max= ends the program "
                "(ConstraintViolationError)"
                + (
                    "; the sizes that were seen are not all that can come."
                    if self._bounds == "observed"
                    else "."
                )
            )


def _site(frame: FrameReport, recorded: CallSite) -> Site:
    return Site(frame.id, recorded.file, recorded.line, recorded.code, Outcome.refused)


def _done(item: _Found, made: Rewrite, name: str) -> Site:
    own = {want.advice.pair for want in item.wants}
    marked, present = own & set(made.marked), own & set(made.present)
    if marked:
        outcome = Outcome.marked
    elif present:
        outcome = Outcome.present
    else:
        outcome = Outcome.refused
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
