"""A tensor dim that takes several sizes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="varying-dim",
    title="A dim of an input tensor takes several sizes",
    causes=(CauseKind.tensor_size,),
    reason=(
        "torch.compile compiles the first call for the exact sizes that it sees. A second size means a second "
        "compile; after that the dim is dynamic by itself, but every further input that varies costs one more. "
        "Declared dynamic from the start, all sizes from 2 on share one graph."
    ),
    example="for batch in loader:            # batch['ids'] is (8, 311), (8, 287), …\n    model(batch['ids'])",
    remedy=(
        "torch._dynamo.mark_dynamic(batch['ids'], 1) before each call, or the entry in "
        "TORCH_COMPILE_DYNAMIC_SOURCES. maybe_mark_dynamic where the code constrains the size, or where no "
        "recorded compile shows that it does not: mark_dynamic raises ConstraintViolationError then. Inputs that "
        "the code requires to be equal are marked all, or none."
    ),
    unless=(
        "Few sizes come again and again and kernels matter more than compiles: pad to a few buckets and keep "
        "it static. Only the last batch of an epoch differs: drop_last=True. Kernels without known divisibility "
        "can be 1.5 to 3.4 times slower (pytorch 176653). CUDA graphs are recorded for each size anyway. The way back: take the entry out, torch._dynamo.mark_static, or "
        "TORCH_COMPILE_STATIC_SOURCES (2.15)."
    ),
)
