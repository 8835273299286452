"""A reason that is not understood."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule

RULE = Rule(
    id="unknown-cause",
    title="The cause is not known",
    causes=(CauseKind.unknown,),
    reason="PyTorch gave no reason, or one that no release from 2.6 to 2.15 is known to write.",
    example="",
    remedy="Look at the verbatim reason.",
    unless="",
    summary=lambda group, seen: "The cause of recompiles is not known",
    fix=("PyTorch's reason, if it gave one, is quoted. Please report it, so that it is known."),
)
