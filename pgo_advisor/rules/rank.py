"""The number of dims of a tensor changes."""

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.rules.base import Rule, sources, values

RULE = Rule(
    id="rank",
    title="The number of dims of a tensor changes",
    causes=(CauseKind.tensor_rank,),
    reason="The rank is always static: each number of dims has a graph of its own.",
    example="f(torch.ones(4)); f(torch.ones(4, 5))",
    remedy="Bring the input to one rank before the call.",
    unless="There are two or three ranks, each used often: as many graphs are right.",
    summary=lambda group, seen: f"{sources(seen)} changes its number of dims ({values(seen)})",
    fix=(
        "Give it one rank: unsqueeze or reshape before the call. No declaration makes the rank dynamic, and after a "
        "change of rank all dims of the input become dynamic by themselves."
    ),
)
