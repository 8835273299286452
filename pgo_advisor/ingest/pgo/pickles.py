"""The PGO state on disk: `code_state_*.pkl` of PyTorch 2.6 to 2.15.

`torch/_dynamo/pgo.py` (`put_local_code_state`) pickles a `defaultdict[CodeId, CodeState]`. A pickle is
a program, so it is not given to `pickle`: this is a machine with just the instructions that such a
state takes, over inert objects of its own. No name in the file is ever looked up in Python.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any

from pgo_advisor.errors import InputError

MAX_BYTES = 16 << 20
"""A state of 50,000 inputs has 6 MB."""
_MAX_INSTRUCTIONS = 2_000_000
MAX_ROWS = 50_000
_MAX_TEXT = 16 << 20
_MAX_DIMS = 64
_MAX_FIELDS = 16
_PGO = "torch._dynamo.pgo"


class _Class(Enum):
    """The names that a state may name, and nothing else."""

    code_id = (_PGO, "CodeId")
    code_state = (_PGO, "CodeState")
    entry = (_PGO, "FrameStateSizeEntry")
    auto_dynamic = (_PGO, "AutoDynamic")
    auto_unset = (_PGO, "AutoUnset")
    infer_stride = (_PGO, "InferStride")
    defaultdict = ("collections", "defaultdict")


_OBJECTS = {_Class.code_id, _Class.code_state, _Class.entry, _Class.infer_stride}


@dataclass(eq=False)
class _Object:
    """An instance of one of the dataclasses; eq=False: hashed by identity, as the key that it is."""

    kind: _Class
    fields: dict[str, Any] = field(default_factory=dict)


class _Token(Enum):
    """The elements of the enums, and the mark on the stack."""

    dynamic = "?"
    unset = "auto unset"
    mark = "mark"


class Refused(InputError):
    """The pickle is damaged, or holds what no PGO state holds."""


def read_code_state(content: bytes) -> list[dict[str, Any]]:
    """Rows for the table `pgo_entries`, all but the keys. Raises Refused; nothing is ever executed."""
    if len(content) > MAX_BYTES:
        raise Refused(
            f"the pickle has {len(content):,} bytes, more than any PGO state; it was not opened"
        )
    state = _Machine().run(content)
    rows: list[dict[str, Any]] = []
    text = 0
    for code, code_state in _items(state):
        code_id, inputs = _fields(code, _Class.code_id), _fields(code_state, _Class.code_state)
        known = {
            "file": _typed(code_id.get("filename"), str),
            "line": _typed(code_id.get("firstlineno"), int),
            "name": _typed(code_id.get("name"), str),
            "file_hash": _optional(code_id.get("file_hash"), str),
            "closure": _optional(code_id.get("closure_hash"), int),
        }
        for source, entry in _items(inputs.get("automatic_dynamic", {})):
            row = {**known, "source": _typed(source, str), **_entry(_fields(entry, _Class.entry))}
            text += sum(len(value) for value in row.values() if isinstance(value, str))
            rows.append(row)
            if text > _MAX_TEXT or len(rows) > MAX_ROWS:
                raise Refused("the pickle repeats its parts to more than any PGO state has")
    return rows


def _entry(fields: dict[str, Any]) -> dict[str, Any]:
    """As `FrameStateSizeEntry.render` tells the kinds apart."""
    scalar, size, stride = (fields.get(name, _Token.unset) for name in ("scalar", "size", "stride"))
    if size is _Token.dynamic and stride is _Token.dynamic:
        if scalar is _Token.dynamic:
            row = {"kind": "dynamic"}
            if isinstance(excluded := fields.get("excluded_scalar"), int):
                row["value"] = str(excluded)
            return row
        return {"kind": "scalar", "value": _single(scalar)}
    if scalar is _Token.dynamic and isinstance(size, tuple) and isinstance(stride, tuple):
        if max(len(size), len(stride)) > _MAX_DIMS:
            raise Refused(f"the pickle has a tensor of {len(size)} dims")
        return {
            "kind": "tensor",
            "size": tuple(None if dim is _Token.dynamic else _typed(dim, int) for dim in size),
            "stride": f"[{', '.join(map(_single, stride))}]",
        }
    return {"kind": "unusual"}


def _single(value: object) -> str:
    if isinstance(value, _Token):
        return value.value
    if isinstance(value, _Object):
        dim = _typed(_fields(value, _Class.infer_stride).get("dim"), int)
        return f"S({dim})"
    if value is None or isinstance(value, int | float | str):
        return str(value)[:1000]
    raise Refused(f"the pickle has a {type(value).__name__} where a size belongs")


def _items(value: object) -> list[tuple[Any, Any]]:
    return list(_typed(value, dict).items())


def _fields(value: object, kind: _Class) -> dict[str, Any]:
    if isinstance(value, _Object) and value.kind is kind:
        return value.fields
    raise Refused(f"the pickle has something else where a {kind.value[1]} belongs")


def _typed(value: Any, kind: type) -> Any:
    if type(value) is kind:
        if isinstance(value, int) and value.bit_length() > 63:
            raise Refused("the pickle has an integer of more than 64 bits")
        if isinstance(value, str):  # a path can hold bytes that are no UTF-8
            return value.encode("utf-8", "replace").decode()
        return value
    raise Refused(f"the pickle has something else where a {kind.__name__} belongs")


def _optional(value: Any, kind: type) -> Any:
    return None if value is None else _typed(value, kind)


class _Machine:
    """Runs the instructions of one pickle; what is not listed below is refused."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        try:
            instructions = islice(pickletools.genops(content), _MAX_INSTRUCTIONS)
            for opcode, argument, position in instructions:
                if opcode.name == "STOP":
                    return self._pop()
                if opcode.name in _LITERALS:
                    self._stack.append(argument)
                elif opcode.name in _CONSTANTS:
                    self._stack.append(_CONSTANTS[opcode.name])
                elif opcode.name in _HANDLERS:
                    _HANDLERS[opcode.name](self, argument)
                elif opcode.name not in _IGNORED:
                    raise Refused(
                        f"the pickle is no PGO state: instruction {opcode.name} at byte {position}; "
                        "nothing of it was executed"
                    )
        except (ValueError, IndexError, KeyError, OverflowError, TypeError) as error:
            raise Refused(f"the pickle is cut or damaged: {error}") from error
        raise Refused("the pickle is cut, or has more instructions than any PGO state")

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _Token.mark:
            raise ValueError("a mark where a value belongs")
        return value

    def _pop_to_mark(self) -> list[Any]:
        values = []
        while (value := self._stack.pop()) is not _Token.mark:
            values.append(value)
        return values[::-1]

    def empty_dict(self, argument: Any) -> None:
        self._stack.append({})

    def memoize(self, argument: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def put(self, argument: Any) -> None:
        self._memo[argument] = self._stack[-1]

    def get(self, argument: Any) -> None:
        self._stack.append(self._memo[argument])

    def tuple_(self, argument: Any) -> None:
        self._stack.append(tuple(self._pop_to_mark()))

    def tuple_of(self, size: int) -> None:
        if len(self._stack) < size:
            raise IndexError("the stack is empty")
        values = tuple(self._stack[-size:])
        del self._stack[-size:]
        self._stack.append(values)

    def stack_global(self, argument: Any) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise Refused(
                "the pickle is no PGO state: it names a class by something that is no text"
            )
        try:
            self._stack.append(_Class((module, name)))
        except ValueError:
            raise Refused(
                f"the pickle is no PGO state: it names {f'{module}.{name}'[:200]!r}; nothing of it was "
                "executed"
            ) from None

    def reduce(self, argument: Any) -> None:
        arguments, kind = self._pop(), self._pop()
        if kind is _Class.auto_dynamic and arguments == (0,):
            self._stack.append(_Token.dynamic)
        elif kind is _Class.auto_unset and arguments == (0,):
            self._stack.append(_Token.unset)
        elif (
            kind is _Class.defaultdict
            and isinstance(arguments, tuple)
            and len(arguments) == 1
            and arguments[0] in (_Class.code_state, _Class.entry)
        ):
            self._stack.append({})
        else:
            raise Refused("the pickle is no PGO state: it calls something; nothing was executed")

    def new_object(self, argument: Any) -> None:
        arguments, kind = self._pop(), self._pop()
        if arguments != () or not isinstance(kind, _Class) or kind not in _OBJECTS:
            raise Refused("the pickle is no PGO state: it makes an object; nothing was executed")
        self._stack.append(_Object(kind))

    def build(self, argument: Any) -> None:
        state, target = self._pop(), self._stack[-1]
        if (
            not isinstance(target, _Object)
            or target.fields
            or not isinstance(state, dict)
            or len(state) > _MAX_FIELDS
            or not all(isinstance(name, str) for name in state)
        ):
            raise Refused(
                "the pickle is no PGO state: it sets a state that none of its objects has"
            )
        target.fields = dict(state)

    def set_item(self, argument: Any) -> None:
        value, key = self._pop(), self._pop()
        self._set(key, value)

    def set_items(self, argument: Any) -> None:
        values = self._pop_to_mark()
        if len(values) % 2:
            raise ValueError("a key without a value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self._set(key, value)

    def _set(self, key: Any, value: Any) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or not isinstance(key, str | _Object):
            raise Refused(
                "the pickle is no PGO state: it sets an item that none of its objects has"
            )
        target[key] = value


_IGNORED = {"PROTO", "FRAME"}
_LITERALS = {
    "SHORT_BINUNICODE",
    "BINUNICODE",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG1",
    "BINFLOAT",
}
_CONSTANTS: dict[str, Any] = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
    "MARK": _Token.mark,
}
_HANDLERS: dict[str, Callable[[_Machine, Any], None]] = {
    "EMPTY_DICT": _Machine.empty_dict,
    "MEMOIZE": _Machine.memoize,
    "BINPUT": _Machine.put,
    "LONG_BINPUT": _Machine.put,
    "BINGET": _Machine.get,
    "LONG_BINGET": _Machine.get,
    "TUPLE": _Machine.tuple_,
    "TUPLE1": lambda machine, argument: machine.tuple_of(1),
    "TUPLE2": lambda machine, argument: machine.tuple_of(2),
    "TUPLE3": lambda machine, argument: machine.tuple_of(3),
    "STACK_GLOBAL": _Machine.stack_global,
    "REDUCE": _Machine.reduce,
    "NEWOBJ": _Machine.new_object,
    "BUILD": _Machine.build,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
}
