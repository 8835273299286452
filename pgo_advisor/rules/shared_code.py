"""Layers or instances that share one code object."""

from collections.abc import Iterator

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import Capability
from pgo_advisor.report import Finding
from pgo_advisor.rules.base import Rule, finding
from pgo_advisor.rules.code_object import CodeObject

_DEFAULT_LIMIT = 8
"""`torch/_dynamo/config.py`, `recompile_limit`, from 2.0 (`cache_size_limit`) to 2.15."""


def _find(group: CodeObject) -> Iterator[Finding]:
    own = {
        cause_source
        for pair in group.varying
        if (cause_source := pair.source).startswith("L['self']") and group.is_parameter(pair)
    }
    causes = [
        (recompile, cause)
        for recompile, cause in group.with_cause(
            CauseKind.tensor_size,
            CauseKind.int_value,
            CauseKind.object_identity,
            CauseKind.object_type,
        )
        if cause.source in own
        or (
            (cause.source or "").startswith("L['self']")
            and cause.kind in (CauseKind.object_identity, CauseKind.object_type)
        )
    ]
    per_compile = group.release is not None and group.release.has(
        Capability.RECOMPILE_LIMIT_ARGUMENT
    )
    graphs = max(group.plan.predictions[frame.key].compiles.low for frame in group.frames)
    allowed = next(iter(group.recompile_limits), _DEFAULT_LIMIT)
    limit = (
        f"torch.compile(…, recompile_limit={graphs}, isolate_recompiles=True)"
        if per_compile
        else f"torch._dynamo.config.recompile_limit = {graphs}"
    )
    return finding(
        RULE.id,
        group,
        causes,
        lambda seen: (
            f"several instances or layers run the code of {group.name}; each needs its own graph"
        ),
        f"{graphs} graphs are right, and within the limit of {allowed}."
        if graphs <= allowed
        else f"{graphs} graphs are right: raise the limit, {limit}, so that none falls back to eager.",
    )


RULE = Rule(
    id="shared-code",
    title="Layers or instances share one code object",
    causes=(CauseKind.object_identity, CauseKind.object_type, CauseKind.tensor_size),
    reason=(
        "All instances of a class run the same forward, and PyTorch keeps graphs, and counts recompiles, by code "
        "object. Layers of different widths, or with different submodules, need as many graphs as there are kinds "
        "of them, though nothing varies within one."
    ),
    example="for layer in model.layers:   # 12 layers, 9 different widths\n    layer.compile()          # limit 8: the ninth runs eagerly",
    remedy=(
        "Raise torch._dynamo.config.recompile_limit (cache_size_limit before 2.6) to the number of kinds; in 2.15 "
        "torch.compile(…, recompile_limit=N, isolate_recompiles=True) does it for one compile."
    ),
    unless="The instances differ in sizes of inputs alone: then see varying-dim.",
    find=_find,
)
