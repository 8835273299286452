"""The documentation of rules and causes, as the command `explain` prints it."""

from __future__ import annotations

import textwrap

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules import RULES, Rule

_WIDTH = 92

_CAUSES = {
    CauseKind.tensor_size: "a dim of a tensor has another size than the graph was made for",
    CauseKind.tensor_rank: "a tensor has another number of dims",
    CauseKind.tensor_stride: "a tensor has another memory layout",
    CauseKind.tensor_dtype: "a tensor has another dtype",
    CauseKind.tensor_device: "a tensor is on another device",
    CauseKind.tensor_requires_grad: "a tensor requires grad, or does not any more",
    CauseKind.tensor_dispatch_keys: "a tensor has other dispatch keys (inference mode, functorch, …)",
    CauseKind.tensor_type: "a tensor is of another class, or no tensor at all",
    CauseKind.int_value: "an int has another value",
    CauseKind.float_value: "a float has another value",
    CauseKind.bool_value: "a flag has another value",
    CauseKind.string_value: "a string has another value",
    CauseKind.none_value: "a value is None, or is not None any more",
    CauseKind.constant_value: "another constant (a dtype, an enum, a tuple, …) has changed",
    CauseKind.container_length: "a list, tuple or dict has another length",
    CauseKind.dict_keys: "a dict has other keys",
    CauseKind.zero_one: "a dynamic size is 0 or 1",
    CauseKind.symbolic_range: "a dynamic size is out of the range that the code allows for this graph",
    CauseKind.equal_dims: "dynamic sizes that were equal are not any more",
    CauseKind.divisibility: "a dynamic size is not divisible as it was",
    CauseKind.symbolic_relation: "another relation between dynamic sizes does not hold",
    CauseKind.object_identity: "another object is met at the same place",
    CauseKind.object_type: "an object of another type is met at the same place",
    CauseKind.attribute_presence: "an attribute is there, or is not any more",
    CauseKind.weakref_dead: "an object that the graph was bound to is gone",
    CauseKind.grad_mode: "grad mode was switched",
    CauseKind.global_state: "another global state (autocast, default dtype, …) was switched",
    CauseKind.aliasing: "inputs are the same tensor, or are not any more",
    CauseKind.backend_changed: "torch.compile was called with another backend",
    CauseKind.marking_changed: "a tensor is marked dynamic that was not",
    CauseKind.entry_deleted: "the graph was dropped",
    CauseKind.recompile_limit: "the limit of graphs for one code object was hit",
    CauseKind.unknown: "no reason, or one that is not understood",
}


def explain_all() -> str:
    """Rules and causes, a line each."""
    width = max(map(len, [*RULES, *(kind.value for kind in _CAUSES)]))
    lines = ["Rules:"]
    lines += [f"  {rule.id:{width}}  {rule.title}" for rule in RULES.values()]
    lines += ["", "Causes of recompiles:"]
    lines += [f"  {kind.value:{width}}  {meaning}" for kind, meaning in _CAUSES.items()]
    return "\n".join(lines) + "\n"


def explain_one(name: str) -> str | None:
    """A rule's documentation, or a cause's meaning and the rules that answer it; None if it is neither."""
    kinds = {kind.value: kind for kind in CauseKind}
    if kind := kinds.get(name):
        answers = [rule for rule in RULES.values() if kind in rule.causes]
        head = f"Cause {kind.value}: {_CAUSES[kind]}\n\n"
        return head + "\n".join(_rule(rule) for rule in answers)
    return _rule(RULES[name]) if name in RULES else None


def _rule(rule: Rule) -> str:
    parts = [f"Rule {rule.id}: {rule.title}", "", textwrap.fill(rule.reason, _WIDTH)]
    if rule.example:
        parts += ["", "For example:", "", textwrap.indent(rule.example, "    ")]
    parts += ["", textwrap.fill(f"Remedy: {rule.remedy}", _WIDTH)]
    if rule.unless:
        parts += ["", textwrap.fill(f"When not: {rule.unless}", _WIDTH)]
    if rule.causes:
        parts += ["", f"Causes: {', '.join(kind.value for kind in rule.causes)}"]
    return "\n".join(parts) + "\n"
