"""A parameter or buffer whose shape changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="parameter-shape",
    title="The shape of a parameter or buffer differs between calls",
    causes=(CauseKind.tensor_size,),
    reason=(
        "Shapes of parameters and buffers are static by torch._dynamo.config.force_parameter_static_shapes; "
        "marks on them do nothing, and say nothing. One graph is compiled for each shape: optimizers that step "
        "each weight, LoRA ranks, layers that share one forward."
    ),
    example="step = torch.compile(update)\nfor p in model.parameters():\n    step(p, p.grad)          # a compile for each shape",
    remedy=(
        "As many graphs as there are shapes are right if kernels matter: raise the limit to that number. To "
        "compile once, the entry in TORCH_COMPILE_DYNAMIC_SOURCES, or force_parameter_static_shapes = False."
    ),
    unless=(
        "The kernels of a dynamic weight are slower than those of a static one: 10.99 ms against 3.89 ms in one "
        "report (Advanced_Optimizers 26). With few shapes keep them static and raise the limit."
    ),
)
