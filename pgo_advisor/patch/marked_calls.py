"""The calls of a compiled function, and which of its inputs are to be marked at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
from pgo_advisor.patch.expressions import in_display
from pgo_advisor.patch.frame_inputs import FrameInputs
from pgo_advisor.patch.locate import Files, NotFound, find_line
from pgo_advisor.patch.result import Site, SiteOutcome
from pgo_advisor.patch.rewrite import WantedMark, unmarked
from pgo_advisor.patch.signature import (
    NoArgument,
    Parameters,
    bind,
    find_function,
    of_torch_wrapper,
    only_function,
    parameters,
)
from pgo_advisor.patch.source_file import SourceFile
from pgo_advisor.report import Advice, CallSite, FrameReport

Bounds = Literal["none", "observed"] | tuple[int, int]
_UNTOLD = "the trace does not tell who calls it"


@dataclass(frozen=True)
class MarkedCall:
    """A call that is to get marks, with the site that it comes from."""

    site: Site
    source: SourceFile
    call: cst.Call
    marks: tuple[WantedMark, ...]
    parameters: Parameters | None


class FrameCalls:
    """The calls of one frame. `frames` are all: a mark cannot be traced in code that is compiled."""

    def __init__(
        self,
        frame: FrameReport,
        advice: Sequence[Advice],
        frames: Sequence[FrameReport],
        files: Files,
        inputs: FrameInputs,
        bounds: Bounds,
    ) -> None:
        self._frame = frame
        self._advice = advice
        self._frames = frames
        self._files = files
        self._inputs = inputs
        self._bounds = bounds
        self._function: cst.FunctionDef | cst.Lambda | None = None
        self._parameters = self._read_parameters()

    def __iter__(self) -> Iterator[Site | MarkedCall]:
        """Each call, or why none is to be marked at a recorded line."""
        done: dict[cst.Call, SourceFile] = {}
        wrapped = False
        for recorded in self._frame.call_sites:
            site = Site(
                self._frame.id, recorded.file, recorded.line, recorded.code, SiteOutcome.refused
            )
            try:
                for result in self._at(site, recorded):
                    yield result
                    if isinstance(result, MarkedCall):
                        done[result.call] = result.source
            except (NotFound, NoCall) as error:
                path = self._files.path(recorded.file)
                yield replace(site, path=path, reasons=(str(error),))
                wrapped |= isinstance(error, Wrapped)
        if not self._frame.call_sites or (wrapped and not done):
            yield from self._in_source()
        yield from self._alike(done)

    def _at(self, site: Site, recorded: CallSite) -> Iterator[Site | MarkedCall]:
        """The calls on a recorded line. Raises NotFound, NoCall."""
        if recorded.through:
            raise NoCall(
                f"the call itself is made by library code that this line calls ({recorded.through})"
            )
        source = self._files.changeable(recorded.file)
        unchanged = self._files.is_traced(recorded.file, source)
        place = find_line(source, recorded.line, recorded.code, unchanged)
        site = replace(site, path=source.path, found_line=place.line)
        for call in calls_on_line(source, place.line, self._frame.name, self._parameters):
            if name := wrapper_around(source, call):
                raise Wrapped(
                    f"the call is in {name}, which calls whatever it is given with whatever it is given"
                )
            if place.patched:
                yield replace(site, outcome=SiteOutcome.present)
            else:
                yield self._marked(site, source, call)

    def _alike(self, done: dict[cst.Call, SourceFile]) -> Iterator[Site | MarkedCall]:
        """Calls that the files show beside those that are done: they can come first in another run."""
        for source in dict.fromkeys(done.values()):
            alike = [other for call in done for other in calls_alike(source, call)]
            if source.path == self._files.path(self._frame.file):
                alike += calls_in_file(source, self._frame.name, self._function)
            for call in dict.fromkeys(alike):
                if call not in done:
                    yield self._in_text(source, call)

    def _in_source(self) -> Iterator[Site | MarkedCall]:
        """The calls in the function's own file, where the trace does not tell who calls it."""
        frame = self._frame
        site = Site(frame.id, frame.file, frame.line, None, SiteOutcome.refused, in_source=True)
        path = self._files.path(frame.file)
        try:
            source = self._files.changeable(frame.file)
        except NotFound as error:
            yield replace(site, path=path, reasons=(f"{_UNTOLD}, and {error}",))
            return
        calls = calls_in_file(source, frame.name, self._function) if self._function else []
        if not calls:
            reason = f"{_UNTOLD}, and its file shows no call of it"
            yield replace(site, path=path, reasons=(reason,))
        for call in calls:
            yield self._in_text(source, call)

    def _in_text(self, source: SourceFile, call: cst.Call) -> Site | MarkedCall:
        line = source.lines(call)[0]
        site = Site(
            self._frame.id,
            str(source.path),
            line,
            source.line_text(line),
            SiteOutcome.refused,
            path=source.path,
            found_line=line,
            in_source=True,
        )
        if name := self._traced_around(source, call):
            reason = (
                f"the call is in {name}, which compiled code calls: a mark cannot be traced there"
            )
            return replace(site, reasons=(reason,))
        return self._marked(site, source, call)

    def _marked(self, site: Site, source: SourceFile, call: cst.Call) -> Site | MarkedCall:
        if name := self._compiled_around(source, call):
            reason = (
                f"the call is in {name}, which is compiled itself: a mark cannot be traced there"
            )
            return replace(site, reasons=(reason,))
        marks, reasons = [], []
        for item in self._advice:
            try:
                marks.append(self._wanted(call, item))
            except NoArgument as error:
                reasons.append(unmarked(item, error))
        site = replace(site, reasons=tuple(dict.fromkeys(reasons)))
        return MarkedCall(site, source, call, tuple(marks), self._parameters) if marks else site

    def _wanted(self, call: cst.Call, advice: Advice) -> WantedMark:
        """Raises NoArgument."""
        bound = bind(call, self._parameters, parse(advice.source))
        condition = self._inputs.condition(self._frame, advice.source)
        lacking = self._inputs.lacks(self._frame, advice.source)
        deeper = in_display(bound).steps or isinstance(bound.unpacked, int)
        if deeper and (condition or lacking):
            raise NoArgument("not every recorded call read it, so it may not be there")
        if lacking and bound.unpacked is not None:
            bound = replace(bound, optional=True)
        return WantedMark(advice, bound, condition, self._limits(advice))

    def _limits(self, advice: Advice) -> tuple[int, int] | None:
        if self._bounds == "none":
            return None
        if self._bounds != "observed":
            return self._bounds
        sizes = [value for value in advice.values if isinstance(value, int)]
        return (min(sizes), max(sizes)) if sizes else None

    def _read_parameters(self) -> Parameters | None:
        """The compiled function's parameters, and its node, if its source file is at hand."""
        frame = self._frame
        if wrapper := of_torch_wrapper(frame.file, frame.name):
            return wrapper
        try:
            source = self._files.source(frame.file)
        except NotFound:
            return None
        if self._files.is_traced(frame.file, source) is not False:
            self._function = find_function(source, frame.name, frame.line)
        self._function = self._function or only_function(source, frame.name)
        if self._function is None:
            return None
        return parameters(source, self._function, map(parse, self._inputs.of(frame)))

    def _compiled_around(self, source: SourceFile, call: cst.Call) -> str | None:
        """The compiled function whose code the call is in."""
        here = self._frames_of(source)
        for node in source.ancestors(call):
            if isinstance(node, cst.FunctionDef) and (
                is_compiled(node)
                or any(find_function(source, frame.name, frame.line) is node for frame in here)
            ):
                return node.name.value
        return None

    def _traced_around(self, source: SourceFile, call: cst.Call) -> str | None:
        """The function with the call if the file shows that compiled code calls it."""
        reached = reached_from(source, [frame.name for frame in self._frames_of(source)])
        around = (n.name.value for n in source.ancestors(call) if isinstance(n, cst.FunctionDef))
        return next((name for name in around if name in reached), None)

    def _frames_of(self, source: SourceFile) -> list[FrameReport]:
        return [frame for frame in self._frames if self._files.path(frame.file) == source.path]
