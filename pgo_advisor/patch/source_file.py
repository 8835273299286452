"""A Python source file as text with its syntax tree, and changes to it that touch nothing else."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    WhitespaceInclusivePositionProvider,
)

_BOM = b"\xef\xbb\xbf"
_ASCII = bytes(range(32, 92)) + bytes(range(93, 127)) + b"\\a.xn--mnchen-3ya"
_MAX_LITERAL = 1000
_LINE_END = re.compile(r"\r\n?|\n")
Node = TypeVar("Node", bound=cst.CSTNode)


class Edit(NamedTuple):
    """Puts `text` in the place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


class Span(NamedTuple):
    """A piece of a text, as offsets."""

    start: int
    end: int


def decoded(content: bytes) -> tuple[str, str]:
    """The text of a source file, and its encoding. Raises ValueError, with the reason, if it is no text."""
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        # the codec of a hostile cookie may take quadratic time (punycode), or give no text (zlib)
        if _ASCII.decode(encoding) != _ASCII.decode("ascii"):
            raise LookupError(f"{encoding} is no encoding of source code")
        return content.decode(encoding), encoding
    except (SyntaxError, UnicodeError, LookupError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"cannot be read as Python: {reason}") from error


class SourceFile:
    """One source file, of a text that `unparsable` finds to be in order.

    Raises ValueError, with the reason, for what cannot be read.
    """

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self.content = content
        self.text, self._encoding = decoded(content)
        try:
            module = cst.parse_module(self.text)
            wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
            self._parents = wrapper.resolve(ParentNodeProvider)
            self._positions = wrapper.resolve(PositionProvider)
            self._whole = wrapper.resolve(WhitespaceInclusivePositionProvider)
        except cst.ParserSyntaxError as error:
            reason = str(error).split("\n")[0]
            raise ValueError(f"cannot be read as Python: {reason}") from error
        except RecursionError as error:
            raise ValueError("is nested too deeply to be read as Python") from error
        # LibCST loses blank lines behind the last statement, where nothing is changed
        if not self.text.startswith(module.with_changes(footer=()).code) or (
            self._encoded(self.text) != content
        ):
            raise ValueError("does not come out of the parser as it went in")
        self.module = module
        self.newline = module.default_newline
        self.indent = module.default_indent
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    @cached_property
    def nodes(self) -> tuple[cst.CSTNode, ...]:
        """All nodes, in the order of the text."""
        return tuple(walk(self.module))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """From the parent up to the module."""
        while (found := self.parent(node)) is not None:
            yield found
            node = found

    def enclosing(self, node: cst.CSTNode, kind: type[Node]) -> Node | None:
        return next((found for found in self.ancestors(node) if isinstance(found, kind)), None)

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """First and last line of a node, from 1."""
        position = self._positions[node]
        return position.start.line, position.end.line

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands: an expression with its parentheses, a statement without its line's end."""
        expression = isinstance(node, cst.BaseExpression)
        position = (self._whole if expression else self._positions)[node]
        return Span(
            self._starts[position.start.line - 1] + position.start.column,
            self._starts[position.end.line - 1] + position.end.column,
        )

    def code(self, node: cst.CSTNode) -> str:
        span = self.span(node)
        return self.text[span.start : span.end]

    def line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def line_start(self, offset: int) -> int:
        """Where the line of an offset starts."""
        return self._starts[self.line_of(offset) - 1]

    def line_text(self, line: int) -> str | None:
        """A line without its end and the white space around it; None if there is no such line."""
        if not 1 <= line <= len(self._starts):
            return None
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return self.text[self._starts[line - 1] : end].strip()

    @cached_property
    def lines_by_text(self) -> Mapping[str, list[int]]:
        """The lines that have a text, each as `line_text` gives it."""
        found: dict[str, list[int]] = defaultdict(list)
        for line in range(1, len(self._starts) + 1):
            found[self.line_text(line) or ""].append(line)
        return found

    def can_hold(self, text: str) -> bool:
        """Whether the file's encoding has all of the characters."""
        try:
            text.encode(self._encoding)
        except UnicodeError:
            return False
        return True

    def changed(self, edits: Iterable[Edit]) -> bytes:
        """The file's bytes with the edits made; these do not overlap."""
        parts, position = [], 0
        for edit in sorted(set(edits)):
            parts += [self.text[position : edit.start], edit.text]
            position = edit.end
        text = "".join([*parts, self.text[position:]])
        cst.parse_module(text)
        return self._encoded(text)

    def _encoded(self, text: str) -> bytes:
        encoded = text.encode(self._encoding)
        has_bom = self._encoding == "utf-8-sig"
        return encoded if not has_bom or encoded.startswith(_BOM) else _BOM + encoded


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything in it, in the order of the text."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def literal(text: str) -> object:
    """The value of a short literal; None for anything else."""
    if len(text) > _MAX_LITERAL:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def dotted(node: cst.CSTNode) -> str | None:
    """`a.b.c` for a name or a chain of attributes; None for anything else."""
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])
