"""The rules: for each cause of recompiles what it means and what helps, one module a rule."""

from __future__ import annotations

from pgo_advisor.rules import (
    aliasing,
    already_dynamic,
    changing_object,
    constant_value,
    container,
    equal_dims,
    failed_compile,
    float_value,
    global_mode,
    hidden_sizes,
    lost_graph,
    many_inputs,
    marking_changed,
    module_int,
    parameter_shape,
    pinned_dim,
    rank,
    ranks_disagree,
    recompile_limit,
    shared_code,
    size_branch,
    size_stays,
    stride,
    tensor_kind,
    unknown_cause,
    varying_dim,
    varying_int,
    zero_one,
)
from pgo_advisor.rules.base import Rule

RULES: dict[str, Rule] = {
    module.RULE.id: module.RULE
    for module in (
        varying_dim,
        varying_int,
        module_int,
        parameter_shape,
        zero_one,
        pinned_dim,
        size_branch,
        size_stays,
        hidden_sizes,
        equal_dims,
        shared_code,
        recompile_limit,
        float_value,
        changing_object,
        constant_value,
        tensor_kind,
        global_mode,
        rank,
        stride,
        container,
        aliasing,
        lost_graph,
        marking_changed,
        ranks_disagree,
        already_dynamic,
        many_inputs,
        failed_compile,
        unknown_cause,
    )
}

__all__ = ["RULES", "Rule"]
