"""The parameters of a generated function, with the argument for each in every call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scripts.random_programs.inputs import Dims, Making, ints, tensor
from scripts.random_programs.scope import Choice, Number, Scope, Shape, Tensor


@dataclass
class Parameter:
    """`arguments` holds one expression for each call; None in one that leaves it at its default."""

    name: str
    arguments: list[str | None]
    keyword: bool = False
    shapes: list[Shape | None] | None = None
    """Of a plain float32 tensor that any other of the same shape can stand for."""


@dataclass
class Signature:
    """Parameters, and the lines that a caller runs before each call."""

    calls: int
    parameters: list[Parameter] = field(default_factory=list)
    before: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = [[] for _ in range(self.calls)]

    def __str__(self) -> str:
        positional = [parameter.name for parameter in self.parameters if not parameter.keyword]
        optional = [f"{parameter.name}=None" for parameter in self.parameters if parameter.keyword]
        return ", ".join(positional + optional)

    def arguments(self, call: int, *, keywords: bool = False) -> list[str]:
        """The arguments of one call; `keywords` passes all but the first by name."""
        positional = [p for p in self.parameters if not p.keyword]
        named = positional[1:] if keywords else []
        named += [p for p in self.parameters if p.keyword]
        return [
            *(p.arguments[call] or "None" for p in positional if p not in named),
            *(f"{p.name}={p.arguments[call]}" for p in named if p.arguments[call] is not None),
        ]

    def set_before(self, name: str, values: Sequence[object]) -> None:
        for lines, value in zip(self.before, values, strict=True):
            lines.append(f"{name} = {value}")


def signature(scope: Scope, kind: str, name: str) -> Signature:
    """Makes up inputs of all kinds and tells the scope of them."""
    made = Signature(scope.calls)
    dims = Dims(scope.rng, scope.calls)
    _plain_tensors(scope, made, dims)
    for chance, container in (
        (0.2, _dictionary),
        (0.15, _list),
        (0.1, _named_tuple),
        (0.06, _array),
    ):
        if scope.rng.random() < chance:
            container(scope, made, dims)
    _scalars(scope, made)
    _surroundings(scope, made, kind, name)
    return made


def _plain_tensors(scope: Scope, made: Signature, dims: Dims) -> None:
    rng = scope.rng
    for position, name in enumerate("xyzw"[: rng.choice([1, 1, 2, 2, 3, 4])]):
        optional = position > 0 and rng.random() < 0.25
        making = tensor(rng, dims, scope.calls, optional=optional)
        arguments = [making.expression(call) for call in range(scope.calls)]
        parameter = Parameter(
            name,
            [
                None if shape is None else text
                for shape, text in zip(making.shapes, arguments, strict=True)
            ],
            keyword=optional,
            shapes=making.shapes if making.ordinary else None,
        )
        made.parameters.append(parameter)
        _tell(scope, name, making)


def _tell(scope: Scope, text: str, making: Making) -> None:
    scope.tensors.append(Tensor(text, tuple(making.shapes), making.integer, making.dense))


def _dictionary(scope: Scope, made: Signature, dims: Dims) -> None:
    rng = scope.rng
    keys = rng.sample(
        ["'ids'", "'a b'", "'q,r'", "'größe'", "'x-1'", "7", "(1, 2)"], rng.randint(1, 3)
    )
    makings = {key: tensor(rng, dims, scope.calls, optional=False) for key in keys}
    made.parameters.append(
        Parameter(
            "d",
            [
                "{"
                + ", ".join(f"{key}: {making.expression(call)}" for key, making in makings.items())
                + "}"
                for call in range(scope.calls)
            ],
        )
    )
    for key, making in makings.items():
        _tell(scope, f"d[{key}]", making)


def _list(scope: Scope, made: Signature, dims: Dims) -> None:
    rng = scope.rng
    lengths = rng.choice(
        [
            [2] * scope.calls,
            [rng.randint(0, 3) for _ in range(scope.calls)],
            [1 + call // 2 for call in range(scope.calls)],
        ]
    )
    rows, columns = dims.pick(), dims.pick()
    shapes = [
        tuple((rows[call] + index, columns[call]) for index in range(lengths[call]))
        for call in range(scope.calls)
    ]
    opening, closing = rng.choice([("[", "]"), ("(", ")")])
    texts = ["".join(f"torch.randn{shape}, " for shape in own) for own in shapes]
    made.parameters.append(Parameter("items", [f"{opening}{text}{closing}" for text in texts]))
    scope.lists.append(("items", tuple(shapes)))


def _named_tuple(scope: Scope, made: Signature, dims: Dims) -> None:
    fields = {
        field: tensor(scope.rng, dims, scope.calls, optional=False) for field in ("ids", "mask")
    }
    made.parameters.append(
        Parameter(
            "batch",
            [
                f"Batch({', '.join(making.expression(call) for making in fields.values())})"
                for call in range(scope.calls)
            ],
        )
    )
    for field_name, making in fields.items():
        _tell(scope, f"batch.{field_name}", making)


def _array(scope: Scope, made: Signature, dims: Dims) -> None:
    rows = dims.pick()
    arguments: list[str | None] = [f'numpy.ones(({size}, 3), dtype="float32")' for size in rows]
    made.parameters.append(Parameter("array", arguments))
    scope.bind("torch.from_numpy(array) * 2.0", lambda call: (rows[call], 3), dense=True)


def _scalars(scope: Scope, made: Signature) -> None:
    rng, calls = scope.rng, scope.calls
    for name, chance in (("k", 0.35), ("m", 0.1)):
        if rng.random() < chance:
            values = ints(rng, calls)
            made.parameters.append(Parameter(name, [str(value) for value in values]))
            scope.numbers.append(Number(name, tuple(values)))
    if rng.random() < 0.12:
        made.parameters.append(
            Parameter("scale", [rng.choice(["0.5", "1.5", "2.5"]) for _ in range(calls)])
        )
        scope.emit("scale = scale * 2" if scope.tensors[0].integer else "x = x * scale")
    if rng.random() < 0.15:
        flags = tuple(rng.random() < 0.5 for _ in range(calls))
        made.parameters.append(Parameter("flag", [str(flag) for flag in flags]))
        scope.choices.append(Choice("flag", flags))
    if rng.random() < 0.08:
        modes = [rng.choice(["sum", "mean"]) for _ in range(calls)]
        made.parameters.append(Parameter("mode", [repr(mode) for mode in modes]))
        scope.choices.append(Choice("mode == 'sum'", tuple(mode == "sum" for mode in modes)))


def _surroundings(scope: Scope, made: Signature, kind: str, name: str) -> None:
    """What a body reads besides its arguments: globals, attributes, a closure's variables."""
    rng, calls = scope.rng, scope.calls
    if rng.random() < 0.1:
        values = ints(rng, calls)
        made.set_before(f"{name}_step", values)
        scope.numbers.append(Number(f"{name}_step", tuple(values)))
    if kind in {"module", "method"} and rng.random() < 0.45:
        values = ints(rng, calls)
        made.set_before(f"{name}_object.step", values)
        scope.numbers.append(Number("self.step", tuple(values)))
    if kind == "module" and rng.random() < 0.35:
        rows = [value + 1 for value in ints(rng, calls)]
        made.set_before(f"{name}_object.cache", [f"torch.randn({row}, 4)" for row in rows])
        scope.tensors.append(Tensor("self.cache", tuple((row, 4) for row in rows), dense=True))
    if kind == "module" and rng.random() < 0.15:
        training = tuple(rng.random() < 0.5 for _ in range(calls))
        made.set_before(f"{name}_object.training", list(training))
        scope.choices.append(Choice("self.training", training))
    if kind == "closure":
        values = ints(rng, calls)
        made.set_before(name, [f"make_{name}({value})" for value in values])
        scope.numbers.append(Number("size", tuple(values)))
