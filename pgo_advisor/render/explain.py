"""The documentation of rules and causes: what the command `explain` prints."""

from __future__ import annotations

from collections.abc import Iterable

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules import RULES, Rule

CAUSES = {
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
    CauseKind.index_width: "a product of sizes is on the other side of what 32 bits count",
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
    CauseKind.not_in_text: "the recompile is not in the text that was given",
    CauseKind.unknown: "no reason, or one that is not understood",
}


def explain_all() -> str:
    """Rules and causes, a line each."""
    causes = "".join(f"  {kind.value:20}  {meaning}\n" for kind, meaning in CAUSES.items())
    return f"Rules:\n{_lines(RULES.values())}\nCauses of recompiles:\n{causes}"


def explain_one(asked: str) -> str | None:
    """The page of a rule, by its code or name, or a cause's meaning and the rules that answer it.

    None if it is neither.
    """
    name = asked.lower()
    for rule in RULES.values():
        if name in (rule.id, rule.code.lower()):
            return page(rule)
    for kind, meaning in CAUSES.items():
        if name == kind.value:
            answers = _lines(rule for rule in RULES.values() if kind in rule.causes)
            return f"Cause {name}: {meaning}\n\nRules:\n{answers}"
    return None


def page(rule: Rule) -> str:
    """The page of a rule, in Markdown."""
    sections = rule.page.strip().partition("\n")[2]
    causes = "".join(f"- `{kind.value}`: {CAUSES[kind]}\n" for kind in rule.causes)
    return f"# {rule.code} {rule.id}: {rule.title}\n{sections}\n" + (
        f"\n## Causes\n\n{causes}" if causes else ""
    )


def _lines(rules: Iterable[Rule]) -> str:
    return "".join(f"  {rule.code}  {rule.id:15}  {rule.title}\n" for rule in rules)
