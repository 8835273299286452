"""The baseline: a JSON file of the recompiles that are known, for reviewers to read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import replace

from pgo_advisor.check.budgets import ConfigError
from pgo_advisor.compare.functions import Again, Function, Signature
from pgo_advisor.compare.match import pairs, unmatched
from pgo_advisor.compare.places import Checkout
from pgo_advisor.files import replace_file
from pgo_advisor.report import Part, UserLine

_MAX_BYTES = 64 << 20
_MAX_RECOMPILES = 1_000_000
_ABOUT = (
    "Recompiles that pgo-advisor check accepts. Lines, sizes, ranks and times are left out, so that it "
    "changes only when the causes do. Written by --update-baseline."
)


class Known(Part, frozen=True):
    """Recompiles of a function for one cause."""

    cause: str
    input: str
    count: Annotated[int, msgspec.Meta(ge=1)]


class KnownFunction(Part, frozen=True):
    """A function that recompiles."""

    function: str
    file: str
    recompiles: tuple[Known, ...]


class Baseline(Part, frozen=True):
    """The file."""

    about: str
    version: int
    functions: tuple[KnownFunction, ...]


def write(path: Path, functions: Iterable[Function], checkout: Checkout) -> None:
    """Writes the recompiles as a baseline. Raises OutputError."""
    told = Baseline(
        about=_ABOUT,
        version=1,
        functions=tuple(
            sorted(
                (_known(function, checkout) for function in functions if function.recompiles),
                key=lambda known: (known.file, known.function),
            )
        ),
    )
    text = json.dumps(msgspec.to_builtins(told), indent=1)
    replace_file(path, f"{text}\n".encode())


def _known(function: Function, checkout: Checkout) -> KnownFunction:
    counts = Counter(again.signature for again in function.recompiles)
    return KnownFunction(
        function.shown,
        checkout.shown(function.file),
        tuple(Known(s.cause, s.input, count) for s, count in sorted(counts.items())),
    )


def read(path: Path) -> Baseline:
    """Raises ConfigError if there is no such file, or it is no baseline."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"{path} is no baseline: it is too large")
        told = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except FileNotFoundError as error:
        raise ConfigError(f"{path} does not exist; --update-baseline writes it") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is no baseline: {error}") from error
    if not 0 <= sum(r.count for f in told.functions for r in f.recompiles) <= _MAX_RECOMPILES:
        raise ConfigError(f"{path} is no baseline: it has more recompiles than any run")
    if told.version != 1:
        raise ConfigError(f"{path} is of version {told.version}; this pgo-advisor reads version 1")
    return told


def compared(
    baseline: Baseline, functions: Sequence[Function], checkout: Checkout
) -> tuple[list[tuple[Function, Again]], int]:
    """The recompiles that the baseline does not have, and how many of its own are gone."""
    new: list[tuple[Function, Again]] = []
    gone = 0
    now = [_as_known(function, checkout) for function in functions]
    of_known = dict(zip(map(id, now), functions, strict=True))
    for old, found in pairs(list(map(_function, baseline.functions)), now):
        lost, came = unmatched(old.recompiles if old else (), found.recompiles if found else ())
        gone += len(lost)
        new += [(of_known[id(found)], again) for again in came]
    return new, gone


def _as_known(function: Function, checkout: Checkout) -> Function:
    """The function as the baseline has it."""
    traits = frozenset(again.signature.input for again in function.recompiles)
    return replace(function, file=checkout.shown(function.file), traits=traits)


def _function(known: KnownFunction) -> Function:
    again: tuple[Again, ...] = ()
    for item in known.recompiles:
        signature = Signature(item.cause, item.input)
        again += (Again(signature, "", "", "", 0.0, UserLine("", 1), "", ""),) * item.count
    name = known.function.rpartition(".")[2]
    return Function(
        id=known.function,
        name=name,
        qualified=known.function if name != known.function else None,
        file=known.file,
        line=0,
        compiles=0,
        graphs=0,
        seconds=0.0,
        recompiles=again,
        traits=frozenset(item.input for item in known.recompiles),
    )
