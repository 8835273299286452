"""What causes name, as phrases of a summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.report import Cause
from pgo_advisor.report.base import listed

_DTYPES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "ComplexHalf": "complex32",
}
"""Names of C++, which reasons have (`c10/core/ScalarType.h`), in Python's."""


def inputs(seen: Iterable[Cause]) -> str:
    """The inputs that causes name: `L['x'] dim 0, L['k']`."""
    return _listed([cause.where for cause in seen if cause.where], most=4) or "an input"


def sources(seen: Iterable[Cause]) -> str:
    """The same without the dims."""
    return _listed([cause.source for cause in seen if cause.source], most=4) or "an input"


def changes(seen: Iterable[Cause], *, dims: bool = False) -> str:
    """The inputs with what they were: `L['lr'] (0.1, 0.2), L['mode'] ('a')`."""
    met: dict[str, list[Cause]] = {}
    for cause in seen:
        where = cause.where if dims else cause.source
        met.setdefault(where or "an input", []).append(cause)
    told = ((where, values(causes)) for where, causes in met.items())
    return _listed([f"{where} ({what})" if what else where for where, what in told], most=4)


def values(seen: Iterable[Cause]) -> str:
    """The values that causes tell of: `0.1, 0.2, 0.3`; empty if they tell none."""
    sides = ((cause.kind, side) for cause in seen for side in _sides(cause))
    found = dict.fromkeys(_readable(kind, side) for kind, side in sides)
    if len(found.keys() - {"None"}) > 1:
        found.pop("not None", None)  # what it was then is among the others
    return _listed(list(found), most=6, more=", …")


_OTHER = {"True": "False", "False": "True", "None": "not None"}


def _sides(cause: Cause) -> list[str]:
    """What the guard wanted and what it met; of a bool or None the one tells the other."""
    told = [side for side in (cause.expected, cause.actual) if side is not None]
    if len(told) == 1 and cause.kind in (CauseKind.bool_value, CauseKind.none_value):
        told += filter(None, [_OTHER.get(told[0])])
    return told


def _readable(kind: CauseKind, value: str) -> str:
    dtype = _DTYPES.get(value) if kind is CauseKind.tensor_dtype else None
    return f"torch.{dtype}" if dtype else value


def _listed(names: Sequence[str], most: int, more: str = " and {} more") -> str:
    return listed(list(dict.fromkeys(names)), most, more)
