"""Dynamo source names: where a value of a compiled frame came from, as `L['batch']['ids']`.

The names are what `Source.name` prints (torch/_dynamo/source.py, read in 2.7, 2.8, 2.10, 2.13 and
2.14): a root, `L['x']` (local), `G['x']` (global) or one of a few others, and a path of steps from
there. Each step goes around or behind what stands before it, so a name is read from the inside
out: `list.__getitem__(L['l'], 0).grad` is the local `l`, its item 0, that item's `grad`.

Names come from traces, so they are hostile: reading one takes linear time, evaluates nothing and
never raises. What is not understood becomes a root of kind `other` without steps.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from keyword import iskeyword
from typing import Literal, NamedTuple


class SourceDim(NamedTuple):
    """What can be declared dynamic: a dim of a tensor, or an int (`dim` is None)."""

    source: str
    dim: int | None = None

    @property
    def words(self) -> str:
        """`L['x'] dim 0`, or for an int its source."""
        return self.source if self.dim is None else f"{self.source} dim {self.dim}"

    @property
    def name(self) -> str:
        """What a shape guard calls it."""
        return self.source if self.dim is None else f"{self.source}.size()[{self.dim}]"

    @property
    def is_base(self) -> bool:
        """Whether it is of the tensor that a view was made from, which has no other name than the view's."""
        return is_base(self.source)


_BASE = "._base"
_MODULE = "L['self']"
_PROPERTY = re.compile(r"(.*)\.(size|stride)\(\)\[(\d{1,4})\]", re.DOTALL)
_NUMBER = re.compile(r"\s*([0-9]{1,18})\s*")


@lru_cache(maxsize=65_536)
def tensor_property(name: str) -> tuple[str, SourceDim] | None:
    """Of `L['x'].size()[0]`: `size` and L['x'] dim 0; so for `stride`. None for any other name.

    Named so by `TensorPropertySource` in torch/_dynamo/source.py.
    """
    match = _PROPERTY.fullmatch(name)
    return (match[2], SourceDim(match[1], int(match[3]))) if match else None


def declarable(name: str) -> SourceDim | None:
    """The size or the number that a name in a guard is; None for strides, storage offsets and calls."""
    if found := tensor_property(name):
        return found[1] if found[0] == "size" else None
    return None if name.endswith("()") else SourceDim(name)


def is_base(source: str) -> bool:
    """Whether a source is the tensor that a view was made from (`AttrSource(…, "_base")`)."""
    return source.endswith(_BASE)


def base_of(view: str) -> str:
    """The source of the tensor that a view was made from."""
    return view + _BASE


def view_of(base: str) -> str:
    """The source of the view that names a base."""
    return base.removesuffix(_BASE)


def is_of_base(name: str) -> bool:
    """Whether a name in a shape guard is a size, a stride or an offset of a view's base."""
    return f"{_BASE}." in name


def is_of_module(source: str) -> bool:
    """Whether it is the module whose method is compiled, or belongs to it."""
    return source.startswith(_MODULE)


def is_module(source: str) -> bool:
    """Whether it is the module whose method is compiled."""
    return source == _MODULE


def whole_number(text: str) -> int | None:
    """The number that a text is; None if it is none, or more than any size (a size has 63 bits)."""
    match = _NUMBER.fullmatch(text)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Attribute:
    """An attribute: `.member`, or `getattr(…, 'member')` and the like where `function` is set."""

    member: str
    function: str = ""


@dataclass(frozen=True)
class Item:
    """An item: `[key]`, or `list.__getitem__(…, key)` and the like where `function` is set.

    `key` is the key's text as Dynamo wrote it, its `repr`, which need not be a literal.
    """

    key: str
    function: str = ""


@dataclass(frozen=True)
class NthItem:
    """A dict's item by its key's position, `[list(dict.keys(…))[position]]`.

    Dynamo writes so where a dict has keys that are not literals, and then for all of its keys.
    """

    position: int
    function: str = ""


@dataclass(frozen=True)
class Call:
    """A call: `…()`, or `function(…)`, or `function(…, argument)`."""

    function: str = ""
    argument: str = ""


Step = Attribute | Item | NthItem | Call


@dataclass(frozen=True)
class Source:
    """A parsed source name.

    `name` is the text that Dynamo wrote; `variable` the local's or global's own name, and for a
    root of kind `other` its text.
    """

    name: str
    kind: Literal["local", "global", "other"]
    variable: str
    steps: tuple[Step, ...] = ()

    @property
    def local_name(self) -> str | None:
        """The compiled frame's local (an argument, mostly) that this comes from."""
        return self.variable if self.kind == "local" else None


_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_LITERAL_STRING = re.compile(_STRING, re.DOTALL)
_WRAPPER = re.compile(r"([A-Za-z_][\w.]*)\(")
_ROOT = re.compile(
    rf"(?P<scope>[LG])\[(?P<variable>{_STRING})\]"
    rf"|SYNTHETIC_LOCAL\[(?:{_STRING})\]"
    r"|random_value_[0-9]+"
    rf"|__import__\((?:{_STRING})\)"
    r"|___get_torch_function_mode_stack_at\([0-9]+\)"
    rf"|___get_current_stream\(torch\.device\((?:{_STRING}), (?:[0-9]+|None)\)\)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"\.(\w+)")
# What a key is made of, as far as its end is concerned.
_KEY_PART = re.compile(rf"{_STRING}|[^\[\](){{}}'\"]+|[\[({{]|[\])}}]", re.DOTALL)
_NTH_KEY = re.compile(r"\[([0-9]{1,9})\]")
_GETATTRS = {"getattr", "object.__getattribute__"}


def parse(name: str) -> Source:
    """Read a source name. Never raises: what is not understood is a root of kind `other`."""
    wrappers: list[re.Match[str]] = []
    position = 0
    while not (root := _ROOT.match(name, position)):
        wrapper = _WRAPPER.match(name, position)
        if not wrapper:
            return Source(name, "other", name)
        wrappers.append(wrapper)
        position = wrapper.end()
    steps = []
    position = root.end()
    while position < len(name):
        found = _step(name, position, wrappers)
        if found is None:
            return Source(name, "other", name)
        step, position = found
        steps.append(step)
    if wrappers:
        return Source(name, "other", name)
    if root["scope"] is None:
        return Source(name, "other", root[0], tuple(steps))
    variable = _literal(root["variable"])
    if not isinstance(variable, str):
        return Source(name, "other", name)
    return Source(name, "local" if root["scope"] == "L" else "global", variable, tuple(steps))


def _step(name: str, position: int, wrappers: list[re.Match[str]]) -> tuple[Step, int] | None:
    """The step at a position and where it ends. The step that ends a wrapper removes it."""
    start = wrappers[-1].end() if wrappers else 0
    if name.startswith("()", position):
        return Call(), position + 2
    if attribute := _ATTRIBUTE.match(name, position):
        return Attribute(attribute[1]), attribute.end()
    if name[position] == "[":
        end = _key_end(name, position + 1, "]")
        return None if end is None else (_item(name, start, position, position + 1, end), end + 1)
    if not wrappers:
        return None
    if name[position] == ")":
        return Call(wrappers.pop()[1]), position + 1
    if not name.startswith(", ", position):
        return None
    end = _key_end(name, position + 2, ")")
    if end is None:
        return None
    function, argument = wrappers.pop()[1], name[position + 2 : end]
    if function.endswith(".__getitem__"):
        return _item(name, start, position, position + 2, end, function), end + 1
    member = _literal(argument)
    if function in _GETATTRS and isinstance(member, str):
        return Attribute(member, function), end + 1
    return Call(function, argument), end + 1


def _item(
    name: str, base: int, base_end: int, start: int, end: int, function: str = ""
) -> Item | NthItem:
    """The item of `name[base:base_end]` whose key is `name[start:end]`."""
    if name.startswith("list(dict.keys(", start):
        keys = f"list(dict.keys({name[base:base_end]}))"
        nth = _NTH_KEY.fullmatch(name, start + len(keys), end)
        if nth and name.startswith(keys, start):
            return NthItem(int(nth[1]), function)
    return Item(name[start:end], function)


def _key_end(name: str, start: int, closing: str) -> int | None:
    """Where the bracket that closes the text from `start` on stands."""
    depth = 0
    position = start
    while part := _KEY_PART.match(name, position):
        if part[0] in ("[", "(", "{"):
            depth += 1
        elif part[0] in ("]", ")", "}"):
            if depth == 0:
                return position if part[0] == closing and position > start else None
            depth -= 1
        position = part.end()
    return None


def _literal(text: str) -> object:
    """The value of a literal, or None, which no key here needs to be, where it is not a plain one.

    Python's own parser may crash on deeply nested text, so only strings and short texts reach it.
    """
    if len(text) > 200 and not _LITERAL_STRING.fullmatch(text):
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def python_expression(source: Source) -> str | None:
    """What a person writes for it in the compiled function's frame, as `batch["ids"]`.

    For the caller it is the argument's own path. None where there is no such expression: closure
    cells, view bases, what Dynamo made itself (resume functions' stacks, numpy conversions …).
    The result is one Python expression made of names, attributes and literal keys, whatever the
    source's name holds. Modules in a container with digits for names count as a ModuleList's.
    """
    if source.kind == "other" or not _is_name(source.variable):
        return None
    parts = [source.variable]
    for step, registered in _steps_by_name(source.steps):
        match step:
            case Attribute(member) if _is_name(member) and member != "_base":
                parts.append(f".{member}")
            case Item(key):
                value = _literal(key)
                if value is None:
                    return None
                if not registered or not isinstance(value, str):
                    parts.append(f"[{_quoted(value)}]")
                elif _is_name(value):
                    parts.append(f".{value}")
                elif _POSITION.fullmatch(value):
                    parts.append(f"[{value}]")
                else:
                    return None
            case NthItem(position):
                parts = [f"list({''.join(parts)}.values())[{position}]"]
            case _:
                return None
    return "".join(parts)


_REGISTRIES = {"_modules", "_parameters", "_buffers"}
_POSITION = re.compile(r"0|[1-9][0-9]{0,5}")


def _steps_by_name(steps: tuple[Step, ...]) -> Iterator[tuple[Step, bool]]:
    """The steps, with `._modules['inner']` as one: the item, and that a module registered it."""
    registered = False
    for step, following in zip_longest(steps, steps[1:]):
        if (
            isinstance(step, Attribute)
            and step.member in _REGISTRIES
            and isinstance(following, Item)
        ):
            registered = True
        else:
            yield step, registered
            registered = False


def _is_name(text: str) -> bool:
    """Whether a person can write it as a name. Dynamo's own names begin with two underscores."""
    return text.isidentifier() and not iskeyword(text) and not text.startswith("__")


def _quoted(value: object) -> str:
    """The literal's Python text, strings in double quotes where that needs no escape."""
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text
