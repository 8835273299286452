"""The budgets, from options and from `[tool.pgo-advisor]` of the nearest pyproject.toml."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pgo_advisor.compare.functions import Signature
from pgo_advisor.dynamo.causes import CauseKind as Kind
from pgo_advisor.errors import PgoAdvisorError
from pgo_advisor.rules import RULES, Rule

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "tool.pgo-advisor"
_CODE = re.compile(r"ALL|PGO\d{0,3}")
_SHAPES = (
    *(Kind.tensor_size, Kind.tensor_rank, Kind.tensor_stride, Kind.zero_one, Kind.symbolic_range),
    *(Kind.equal_dims, Kind.divisibility, Kind.symbolic_relation, Kind.index_width),
)
_VALUES = (
    *(Kind.int_value, Kind.float_value, Kind.bool_value, Kind.string_value, Kind.none_value),
    *(Kind.constant_value, Kind.container_length, Kind.dict_keys),
)
CAUSES: dict[str, frozenset[str]] = {
    "shape": frozenset(_SHAPES),
    "value": frozenset(_VALUES),
    "limit": frozenset({Kind.recompile_limit}),
    "other": frozenset(Kind) - {*_SHAPES, *_VALUES, Kind.recompile_limit},
    **{kind.value: frozenset({kind}) for kind in Kind},
}
"""What a budget by cause can be for: a group of causes, or one of them."""

Count = Annotated[int, msgspec.Meta(ge=0)]


class ConfigError(PgoAdvisorError):
    """Budgets that cannot be read, or mean nothing."""


class Budgets(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """What a run may cost; what is not given is not limited. Names as in the file, with hyphens there.

    Without any budget, baseline or `select`, every recompile is too many. Raises ConfigError for a cause or
    a rule that there is not.
    """

    max_recompiles: Count | dict[str, Count] | None = None
    """In all, or by cause: `{all = 2, shape = 0}`."""
    max_compile_seconds: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Wall seconds of the process that compiled longest."""
    max_graphs: dict[str, Count] = {}
    """Of each function that a pattern names."""
    no_limit_hit: bool = False
    no_eager_fallback: bool = False
    expected_static: tuple[str, ...] = ()
    """Patterns of functions or inputs that get a graph for each size on purpose."""
    ignore: tuple[str, ...] = ()
    """Codes of rules, as `PGO4`, and patterns of functions."""
    select: tuple[str, ...] = ()
    """Codes of rules whose findings are too many."""
    baseline: str | None = None
    """File of what is known: only new recompiles are too many."""

    def __post_init__(self) -> None:
        for cause in self.recompiles:
            if cause not in {"all", *CAUSES}:
                raise ConfigError(
                    f"max-recompiles: {cause!r} is no cause; take all, shape, value, limit, other, or one "
                    "of `pgo-advisor explain`, as tensor-size"
                )
        for code in (*self.select, *filter(_CODE.fullmatch, self.ignore)):
            if code != "ALL" and not any(rule.code.startswith(code) for rule in RULES.values()):
                raise ConfigError(
                    f"{code!r} is no code of a rule; `pgo-advisor explain` lists them"
                )

    @property
    def recompiles(self) -> dict[str, int]:
        """The budgets of recompiles by cause; `all` is that of all."""
        if self.max_recompiles is None or isinstance(self.max_recompiles, dict):
            return self.max_recompiles or {}
        return {"all": self.max_recompiles}

    @property
    def is_set(self) -> bool:
        """Whether anything says what is too many."""
        return (
            self.max_recompiles is not None
            or self.max_compile_seconds is not None
            or bool(self.max_graphs or self.select or self.baseline)
            or self.no_limit_hit
            or self.no_eager_fallback
        )

    def selects(self, rule: Rule) -> bool:
        """Whether findings of a rule are too many."""
        return _covered(rule, self.select) and not _covered(rule, self.ignore)

    def ignores_rule(self, rule: Rule) -> bool:
        return _covered(rule, self.ignore)

    def ignores_function(self, *names: str) -> bool:
        return any(matches(item, *names) for item in self.ignore if not _CODE.fullmatch(item))

    def expects_static(self, signature: Signature, *names: str) -> bool:
        """Whether a recompile is meant to be; `names` are those of the function."""
        source = signature.input.partition(" dim ")[0]
        return signature.cause in CAUSES["shape"] and any(
            matches(pattern, *names, signature.input, source) for pattern in self.expected_static
        )


def matches(pattern: str, *names: str) -> bool:
    """Whether one of the names is as the pattern says: `*` is any text, all else stands for itself."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    return any(fnmatchcase(name, literal) for name in names)


def _covered(rule: Rule, codes: tuple[str, ...]) -> bool:
    return any(
        code == "ALL" or rule.code.startswith(code) for code in codes if _CODE.fullmatch(code)
    )


def budgets(options: dict[str, Any], start: Path) -> Budgets:
    """The budgets of the pyproject.toml that is nearest above `start`; `options` go before.

    Raises ConfigError if the file is none of TOML, or an entry is unknown or of another kind.
    """
    path, table = _nearest(start)
    given = {name: value for name, value in options.items() if value or type(value) is float}
    if isinstance(table.get("max-recompiles"), int):
        table["max-recompiles"] = {"all": table["max-recompiles"]}
    for name, value in given.items():
        old = table.get(name)
        table[name] = old | value if isinstance(old, dict) and isinstance(value, dict) else value
    if path and isinstance(table.get("baseline"), str) and "baseline" not in given:
        table["baseline"] = str(path.parent / table["baseline"])
    try:
        return msgspec.convert(table, Budgets)
    except msgspec.ValidationError as error:
        raise ConfigError(f"[{TABLE}]{f' of {path}' if path else ''}: {error}") from error


def _nearest(start: Path) -> tuple[Path | None, dict[str, Any]]:
    """The nearest pyproject.toml that has our table, and this; a repository's top is not passed."""
    for directory in (start, *start.parents):
        path = directory / "pyproject.toml"
        if path.is_file():
            try:
                told = tomllib.loads(path.read_text("utf-8"))
            except (OSError, ValueError, RecursionError) as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
            tools = told.get("tool")
            table = tools.get("pgo-advisor") if isinstance(tools, dict) else None
            if isinstance(table, dict):
                return path, table
        if (directory / ".git").exists():
            break
    return None, {}
