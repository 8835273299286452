"""A size that varies and that declaring would not help."""

from collections.abc import Iterator

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding
from pgo_advisor.group import Group
from pgo_advisor.rules.base import Rule, finding, sources

_SIZES = (CauseKind.tensor_size, CauseKind.int_value)


def _find(group: Group) -> Iterator[Finding]:
    return finding(
        RULE.id,
        group,
        (
            (recompile, recompile.causes[0])
            for recompile in group.recompiles
            if not recompile.removed
            and all(
                cause.kind in _SIZES
                and (cause.source, cause.dim) not in group.pinned
                and (cause.dim is None or not {"0", "1"} & {cause.expected, cause.actual})
                for cause in recompile.causes
            )
        ),
        lambda seen: (
            f"{sources(seen)} varies, but declaring it is not predicted to save this compile"
        ),
        "Something else keeps the calls apart that no guard names first: an earlier change of rank, a size next to it "
        "that is pinned, a branch. See what differs between the two calls in the recompiles.",
    )


RULE = Rule(
    id="size-stays",
    title="A size varies, and declaring it would save nothing",
    causes=_SIZES,
    reason=(
        "The replay with this input declared dynamic gives as many compiles as without: each of these calls needs a graph "
        "of its own for another reason as well."
    ),
    example="f(x) with x of (4,), (4, 5), (6, 5): after the change of rank all dims are dynamic anyway",
    remedy="Look at the other differences between the calls.",
    unless="The trace has too little to tell: run the program with the entry and see.",
    find=_find,
)
