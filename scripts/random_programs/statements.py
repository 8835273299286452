"""Statements of a body; each adds itself to the scope if something suits it, and says whether it did."""

from __future__ import annotations

from collections.abc import Callable

from scripts.random_programs.operations import BINARY, UNARY
from scripts.random_programs.scope import Number, Scope, Shape, Tensor

Statement = Callable[[Scope], bool]


def _shape(tensor: Tensor) -> Callable[[int], Shape]:
    return lambda call: tensor.shapes[call] or ()


def unary(scope: Scope) -> bool:
    operation = scope.rng.choice(UNARY)
    operands = [t for t in scope.usable(operation.fits) if t.dense or not operation.needs_dense]
    if not operands:
        return False
    operand = scope.rng.choice(operands)
    scope.bind(
        operation.text.format(a=operand.text),
        lambda call: operation.gives(operand.shapes[call] or ()),
        dense=operation.dense and operand.dense,
    )
    return True


def binary(scope: Scope) -> bool:
    operation = scope.rng.choice(BINARY)
    tensors = scope.usable()
    pairs = [
        (a, b)
        for a in tensors
        for b in tensors
        if a is not b
        and all(
            operation.gives(a.shapes[call] or (), b.shapes[call] or ()) is not None
            for call in scope.live
        )
    ]
    if not pairs:
        return False
    a, b = scope.rng.choice(pairs)
    scope.bind(
        operation.text.format(a=a.text, b=b.text),
        lambda call: operation.gives(a.shapes[call] or (), b.shapes[call] or ()) or (),
    )
    return True


def parameter(scope: Scope) -> bool:
    """An operation with a tensor of fixed shape, which pins what it meets."""
    tensors = [
        tensor
        for tensor in scope.usable(lambda shape: len(shape) >= 1)
        if len({(tensor.shapes[call] or ())[-1] for call in scope.live}) == 1
    ]
    if not tensors or not scope.live:
        return False
    tensor = scope.rng.choice(tensors)
    size = (tensor.shapes[scope.live[0]] or ())[-1]
    width = scope.rng.randint(2, 5)
    kind = scope.rng.choice(["matmul", "linear", "add"])
    if kind == "add":
        scope.bind(f"{tensor.text} + {scope.parameter(size)}", _shape(tensor), dense=tensor.dense)
        return True
    weight = scope.parameter(*((size, width) if kind == "matmul" else (width, size)))
    text = (
        f"{tensor.text} @ {weight}.to({tensor.text}.dtype)"
        if kind == "matmul"
        else f"F.linear({tensor.text}, {weight}.to({tensor.text}.dtype))"
    )
    scope.bind(text, lambda call: (*(tensor.shapes[call] or ())[:-1], width))
    return True


def embedding(scope: Scope) -> bool:
    ids = [
        t for t in scope.tensors if t.integer and all(t.shapes[c] is not None for c in scope.live)
    ]
    if not ids:
        return False
    chosen = scope.rng.choice(ids)
    table = scope.parameter(5, 3)
    scope.bind(
        f"F.embedding({chosen.text}, {table})", lambda call: (*(chosen.shapes[call] or ()), 3)
    )
    return True


def size_number(scope: Scope) -> bool:
    """An int from a size or another int."""
    name = f"n{next(scope.names)}"
    tensors, numbers = scope.usable(lambda shape: len(shape) >= 1), scope.usable_numbers()
    if tensors and (not numbers or scope.rng.random() < 0.6):
        tensor = scope.rng.choice(tensors)
        dim = scope.rng.choice([0, -1])
        text = f"{tensor.text}.shape[{dim}]"
        values = [(tensor.shapes[call] or (0,))[dim] for call in range(scope.calls)]
    elif numbers:
        number = scope.rng.choice(numbers)
        known = [value or 0 for value in number.values]
        text, values = scope.rng.choice(
            [
                (f"{number.text} // 2", [value // 2 for value in known]),
                (f"{number.text} * 2 + 1", [value * 2 + 1 for value in known]),
                (f"max({number.text}, 4)", [max(value, 4) for value in known]),
                (f"min({number.text}, 5)", [min(value, 5) for value in known]),
                (f"{number.text} % 3", [value % 3 for value in known]),
                (f"{number.text} - 1", [value - 1 for value in known]),
            ]
        )
    else:
        return False
    scope.emit(f"{name} = {text}")
    live = set(scope.live)
    scope.numbers.append(
        Number(name, tuple(value if call in live else None for call, value in enumerate(values)))
    )
    return True


def use_number(scope: Scope) -> bool:
    numbers = scope.usable_numbers(lambda value: 0 <= value < 64)
    tensors = scope.usable(lambda shape: len(shape) >= 1)
    if not numbers or not tensors:
        return False
    number, tensor = scope.rng.choice(numbers), scope.rng.choice(tensors)
    n, a = number.text, tensor.text

    def value(call: int) -> int:
        return number.values[call] or 0

    def rest(call: int) -> Shape:
        return (tensor.shapes[call] or ())[1:]

    uses: list[tuple[str, Callable[[int], Shape]]] = [
        (f"{a} * {n}", _shape(tensor)),
        (f"{a} + float({n})", _shape(tensor)),
        (
            f"{a}[:{n}]",
            lambda call: (min(value(call), (tensor.shapes[call] or (0,))[0]), *rest(call)),
        ),
        (f"torch.arange({n}) * 1.0", lambda call: (value(call),)),
        (f"torch.ones({n}, 2)", lambda call: (value(call), 2)),
        (f"torch.full((3, {n}), 0.5)", lambda call: (3, value(call))),
        (f"{a}.new_zeros({n}) + 1", lambda call: (value(call),)),
    ]
    text, shape = scope.rng.choice(uses)
    scope.bind(text, shape)
    return True


def loop(scope: Scope) -> bool:
    numbers = scope.usable_numbers(lambda value: 0 <= value < 8)
    tensors = scope.usable()
    if not tensors:
        return False
    tensor = scope.rng.choice(tensors)
    if numbers and scope.rng.random() < 0.6:
        number = scope.rng.choice(numbers)
        steps = scope.rng.choice([f"range({number.text})", f"range({number.text} % 3)"])
    elif scope.usable(lambda shape: len(shape) >= 1 and shape[0] < 8):
        steps = scope.rng.choice(scope.usable(lambda shape: len(shape) >= 1 and shape[0] < 8)).text
        with scope.block(f"for row in {steps}:", scope.live):
            scope.emit("out = out + row.sum()")
        return True
    else:
        steps = "range(2)"
    name = scope.bind(tensor.text, _shape(tensor), dense=tensor.dense).text
    with scope.block(f"for i in {steps}:", scope.live):
        scope.emit(
            scope.rng.choice([f"{name} = {name} + i", f"{name} = {name} * 0.5 + {name}.sum()"])
        )
    return True


def over_list(scope: Scope) -> bool:
    if not scope.lists:
        return False
    text, shapes = scope.rng.choice(scope.lists)
    kind = scope.rng.choice(["sum", "cat", "loop", "len", "first"])
    if kind == "cat" and all(shapes[call] for call in scope.live):
        scope.bind(f"torch.cat([item.reshape(-1) for item in {text}])", lambda call: (
            sum(numel(shape) for shape in shapes[call]),
        ))  # fmt: skip
    elif kind == "len":
        scope.emit(f"out = out + len({text})")
    elif kind == "first" and all(shapes[call] for call in scope.live):
        scope.bind(f"{text}[0] * 2", lambda call: shapes[call][0])
    else:
        with scope.block(f"for item in {text}:", scope.live):
            scope.emit("out = out + item.sum()")
    return True


def numel(shape: Shape) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def graph_break(scope: Scope) -> bool:
    tensors = scope.usable()
    kind = scope.rng.choice(["call", "print", "item", "tolist"])
    if kind == "print":
        scope.emit('print("step")')
    elif kind == "item" and tensors:
        scope.emit(
            f"out = out + round(float({scope.rng.choice(tensors).text}.detach().sum().item()), 3)"
        )
    elif kind == "tolist" and (flat := scope.usable(lambda shape: len(shape) == 1)):
        tensor = scope.rng.choice(flat)
        scope.bind(f"{tensor.text}[{tensor.text} > 0].sum()", lambda call: ())
    else:
        scope.emit("torch._dynamo.graph_break()")
    return True


def helper(scope: Scope) -> bool:
    tensors = scope.usable(lambda shape: len(shape) >= 1)
    if not tensors:
        return False
    tensor = scope.rng.choice(tensors)
    numbers = scope.usable_numbers()
    argument = scope.rng.choice(numbers).text if numbers and scope.rng.random() < 0.5 else "2"
    name = "noisy" if scope.rng.random() < 0.15 else "helper"
    scope.bind(f"{name}({tensor.text}, {argument})", _shape(tensor))
    return True


def check(scope: Scope) -> bool:
    tensors = scope.usable(lambda shape: len(shape) >= 1)
    if not tensors:
        return False
    name = scope.rng.choice(tensors).text
    scope.emit(
        scope.rng.choice(
            [
                f"torch._check({name}.shape[0] >= 0)",
                f"torch._check({name}.size(0) < 1000)",
                f"torch._check({name}.numel() <= 100000)",
                f"assert {name}.shape[0] != 77",
            ]
        )
    )
    return True


def in_place(scope: Scope) -> bool:
    tensors = scope.usable(lambda shape: len(shape) >= 1 and shape[0] > 0)
    if not tensors:
        return False
    tensor = scope.rng.choice(tensors)
    name = scope.bind(f"{tensor.text}.clone()", _shape(tensor)).text
    scope.emit(
        scope.rng.choice([f"{name}[0] = 0", f"{name}.add_(1)", f"{name}.mul_({name}.shape[0])"])
    )
    return True


def accumulate(scope: Scope) -> bool:
    scope.emit(f"out = out + {scalar(scope)}")
    return True


def scalar(scope: Scope) -> str:
    tensors = scope.usable()
    return f"{scope.rng.choice(tensors[-4:]).text}.sum()" if tensors else "1"


SIMPLE: list[Statement] = [unary, unary, unary, binary, parameter, use_number, in_place, accumulate]


def add(scope: Scope, number: int, kinds: list[Statement]) -> None:
    """Adds so many statements, fewer if little suits the scope."""
    for _ in range(4 * number):
        if number and scope.rng.choice(kinds)(scope):
            number -= 1
