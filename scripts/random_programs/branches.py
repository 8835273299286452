"""Statements that only some calls reach, and the list of all."""

from __future__ import annotations

from scripts.random_programs.scope import Choice, Scope
from scripts.random_programs.statements import (
    SIMPLE,
    Statement,
    add,
    binary,
    check,
    embedding,
    graph_break,
    helper,
    loop,
    numel,
    over_list,
    scalar,
    size_number,
    unary,
    use_number,
)


def branch(scope: Scope) -> bool:
    """An if/else; both sides give a tensor of their own."""
    condition = _condition(scope)
    if condition is None:
        return False
    taken = tuple(call for call in scope.live if condition.values[call])
    for header, live in (
        (f"if {condition.text}:", taken),
        ("else:", tuple(call for call in scope.live if call not in taken)),
    ):
        if header == "else:" and scope.rng.random() < 0.3:
            break
        with scope.block(header, live):
            if not live:
                scope.emit("out = out + 1")
                continue
            add(scope, scope.rng.randint(1, 2), SIMPLE)
            scope.emit(f"out = out + {scalar(scope)}")
    return True


def early_return(scope: Scope) -> bool:
    condition = _condition(scope)
    if condition is None or scope.indent > 1:
        return False
    taken = tuple(call for call in scope.live if condition.values[call])
    if len(taken) == len(scope.live):
        return False
    with scope.block(f"if {condition.text}:", taken):
        scope.emit("return out * 2.0")
    scope.live = tuple(call for call in scope.live if call not in taken)
    return True


def _condition(scope: Scope) -> Choice | None:
    found = list(scope.choices)
    rng = scope.rng
    bound = rng.randint(2, 9)
    live = set(scope.live)
    for tensor in scope.usable(lambda shape: len(shape) >= 1):
        first = [(tensor.shapes[c] or (0,))[0] if c in live else 0 for c in range(scope.calls)]
        total = [numel(tensor.shapes[c] or ()) if c in live else 0 for c in range(scope.calls)]
        a = tensor.text
        found += [
            Choice(f"{a}.shape[0] > {bound}", tuple(n > bound for n in first)),
            Choice(f"{a}.size(0) % 2 == 0", tuple(n % 2 == 0 for n in first)),
            Choice(f"{a}.numel() >= {4 * bound}", tuple(n >= 4 * bound for n in total)),
            Choice(f"{a}.shape[0] == {bound}", tuple(n == bound for n in first)),
            Choice(
                f"{a}.dim() == 2",
                tuple(len(tensor.shapes[c] or ()) == 2 for c in range(scope.calls)),
            ),
        ]
        other = rng.choice(scope.usable(lambda shape: len(shape) >= 1))
        last = [(other.shapes[c] or (0,))[-1] if c in live else 0 for c in range(scope.calls)]
        found += [
            Choice(f"{a}.shape[0] < {other.text}.shape[-1]",
                   tuple(n < m for n, m in zip(first, last, strict=True))),
            Choice(f"{a}.shape[0] == {other.text}.shape[-1]",
                   tuple(n == m for n, m in zip(first, last, strict=True))),
        ]  # fmt: skip
    for number in scope.usable_numbers():
        values = [value or 0 for value in number.values]
        found += [
            Choice(f"{number.text} > {bound // 2}", tuple(n > bound // 2 for n in values)),
            Choice(f"{number.text} == {bound // 2}", tuple(n == bound // 2 for n in values)),
            Choice(f"{number.text} % 2", tuple(bool(n % 2) for n in values)),
        ]
    return rng.choice(found) if found else None


def optional(scope: Scope) -> bool:
    """A use of a tensor that some calls do not have."""
    absent = [
        t
        for t in scope.tensors
        if not t.integer and any(t.shapes[call] is None for call in scope.live)
    ]
    if not absent:
        return False
    tensor = scope.rng.choice(absent)
    live = tuple(call for call in scope.live if tensor.shapes[call] is not None)
    with scope.block(f"if {tensor.text} is not None:", live):
        if live:
            add(scope, 1, SIMPLE)
            scope.emit(f"out = out + {tensor.text}.sum()")
        else:
            scope.emit("out = out + 1")
    return True


ALL: list[Statement] = [
    *SIMPLE,
    unary,
    unary,
    binary,
    binary,
    embedding,
    size_number,
    use_number,
    loop,
    over_list,
    helper,
    check,
    branch,
    branch,
    early_return,
    optional,
    optional,
    graph_break,
]
