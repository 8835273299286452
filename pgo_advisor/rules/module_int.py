"""An int attribute of a module that changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="module-int",
    title="An int attribute of a module changes and is never made dynamic by itself",
    causes=(CauseKind.int_value,),
    reason=(
        "Since 2.8 ints on nn.Module stay constants however often they change: every value is a compile, up to "
        "the recompile limit."
    ),
    example="class M(nn.Module):\n    def forward(self, x):\n        self.step += 1          # a compile each call",
    remedy=(
        "The entry in TORCH_COMPILE_DYNAMIC_SOURCES (one graph), or "
        "torch._dynamo.config.allow_unspec_int_on_nn_module = True (two graphs), or keep the number in a tensor."
    ),
    unless="The number is needed as a constant, as a layer's index is: then see shared-code.",
)
