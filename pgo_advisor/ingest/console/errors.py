"""What errors and warnings tell beside recompiles: pinned sizes, the release, CUDA graphs, export.

`ConstraintViolationError`: `produce_guards_verbose` in torch/fx/experimental/symbolic_shapes.py. CUDA graphs:
`maybe_warning_due_to_dynamic_shape` in torch/_inductor/cudagraph_utils.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from packaging.version import Version

from pgo_advisor.ingest.console.lines import Line
from pgo_advisor.ingest.console.printed import Pin, Place, Printed

_CONSTANT = re.compile(r"\A\((-?\d{1,19})\)")
_FRAME = re.compile(r'\A *File "([^"\n]{1,4000})", line (\d{1,9}), in (\S{1,1000})')


def read_violation(compile_: Printed, text: str) -> bool:
    """Reads a line of a ConstraintViolationError; whether it is one."""
    if pin := _pin(text):
        compile_.violated.append(pin)
        compile_.stack = False
    elif "User stack:" in text:
        compile_.stack = True
    elif compile_.stack and (start := text.find('File "')) >= 0:
        if frame := _FRAME.match(text[start:]):
            compile_.code = (frame[3], frame[1], None)
            _stands(compile_, (frame[1], int(frame[2]), ""))
    elif compile_.stack and compile_.violated and text.strip(" ^~"):
        place = compile_.places.get(compile_.violated[-1].name)
        if place is None or place[2]:
            return False
        _stands(compile_, (place[0], place[1], text.strip()))
    else:
        return " - " in text or not text.strip(" ^~")
    return True


def _stands(compile_: Printed, place: Place) -> None:
    """The innermost frame of the user's stack is the last that is printed."""
    if compile_.violated:
        compile_.places[compile_.violated[-1].name] = place


def _pin(text: str) -> Pin | None:
    for before, behind in (
        (" are valid because ", " was inferred to be a constant "),
        ("You marked ", " as dynamic but your code specialized it to be a constant "),
    ):
        name, found, rest = text.partition(before)[2].partition(behind)
        if found and (value := _CONSTANT.match(rest)):
            return Pin(name, value[1])
    return None


_VERSION = re.compile(
    r"\b(?:PyTorch|Torch|torch) ?(?:version(?: \(GPU\?\))?:|==) ?"
    r"v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?[\w.+]{0,60})"
)
_DISTINCT = re.compile(r"We have observed (\d{1,9}) distinct sizes")
_ERROR = re.compile(r"\btorch\.[\w.]{1,100}\.(\w{1,60}): (.{1,300})")
_EXPORT = ("torch/export/", "torch\\export\\", "torch.export", "torch._export")
_LIKE_TORCH = (
    "torch._dynamo",
    "torch/_dynamo",
    "torch\\_dynamo",
    "torch/_inductor",
    "ecompil",
    "torch/fx/",
)


@dataclass
class Remarks:
    """What a text tells of the run as a whole."""

    versions: set[str] = field(default_factory=set)
    old: tuple[str, str] | None = None
    """The newest release that it can be of, and what shows it."""
    recorded_again: int = 0
    """For how many sizes CUDA graphs were recorded."""
    export: bool = False
    forbidden: bool = False
    """A recompile was an error, by the stance."""
    error: tuple[str, str] | None = None
    strange: list[str] = field(default_factory=list)
    """The first lines that look like PyTorch's and are not understood."""

    def read(self, line: Line, text: str) -> None:
        """Reads a line that belongs to no recompile."""
        if "orch" not in text and "ecompil" not in text and "distinct sizes" not in text:
            if line.prefixed and len(self.strange) < 3:
                self.strange.append(text.strip())
            return
        if match := _VERSION.search(text):
            self.versions.add(match[1])
        elif match := _DISTINCT.search(text):
            self.recorded_again = max(self.recorded_again, int(match[1]))
        self.export = self.export or any(mark in text for mark in _EXPORT)
        if match := _ERROR.search(text):
            self.error = self.error or (match[1], match[2])
        if len(self.strange) < 3 and (line.prefixed or any(mark in text for mark in _LIKE_TORCH)):
            self.strange.append(text.strip())

    def at_most(self, release: str, shown_by: str) -> None:
        """The text has a form that no release after this one prints."""
        if self.old is None or Version(release) < Version(self.old[0]):
            self.old = (release, shown_by)

    @property
    def release(self) -> str | None:
        """The release that the text is of, or one that it is not newer than."""
        if len(self.versions) == 1:
            return next(iter(self.versions))
        return self.old[0] if self.old and not self.versions else None

    def sentences(self) -> list[str]:
        """What the reader has to know of the text."""
        said = []
        if self.old and not self.versions:
            said.append(
                f"It is of PyTorch {self.old[0]} or older, as {self.old[1]} shows: the "
                "advice is for that release"
            )
        if self.recorded_again:
            said.append(
                f"CUDA graphs were recorded again for {self.recorded_again} distinct sizes: that is no "
                "recompile; pad to few sizes, or set "
                "torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
            )
        if self.forbidden:
            said.append(
                "The stance fail_on_recompile made a recompile an error: it is counted as if it had been made"
            )
        if self.export:
            said.append(
                "It holds messages of torch.export, whose sizes are declared by dynamic_shapes="
            )
        return said

    @property
    def told(self) -> bool:
        """Whether there is anything of PyTorch in the text."""
        return bool(self.strange or self.error or self.sentences())

    def nothing(self) -> str:
        """Why no compile is in the text, in a sentence without its beginning: what it holds instead."""
        if said := self.sentences():
            return said[0]
        if self.error:
            kind, text = self.error
            return f"it holds an error of PyTorch, no recompile: {kind}: {text}"
        if self.strange:
            shown = "; ".join(f"«{text[:160]}»" for text in self.strange)
            return f"these lines look like PyTorch's and were not understood: {shown}"
        return "it holds no message of PyTorch on a compile"
