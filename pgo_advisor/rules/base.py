"""What a rule is, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Finding, Recompile, Seen
from pgo_advisor.history import Call, Frame, Pair
from pgo_advisor.plan import Plan
from pgo_advisor.torch_release import TorchRelease


@dataclass(frozen=True)
class Group:
    """A code object with its frames in all logs: what a verdict and a finding are about."""

    id: str
    frames: tuple[Frame, ...]
    recompiles: tuple[Recompile, ...]
    plan: Plan
    release: TorchRelease | None

    @property
    def name(self) -> str:
        return self.frames[0].name

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for frame in self.frames for call in frame.calls)

    @cached_property
    def varying(self) -> dict[Pair, tuple[int | str, ...]]:
        """What took several values in a frame, with these, in the order of the compiles."""
        predictors = [self.plan.predictors[frame.key] for frame in self.frames]
        pairs = dict.fromkeys(
            pair for each in predictors for pair in (*each.varying, *each.at_limit)
        )
        late = [item for each in predictors for item in each.at_limit.items()]
        return {
            pair: tuple(
                dict.fromkeys(
                    [
                        *(v for call in self.calls if (v := call.value(pair)) is not None),
                        *(v for other, met in late if other == pair for v in sorted(met, key=str)),
                    ]
                )
            )
            for pair in pairs
        }

    def is_parameter(self, pair: Pair) -> bool:
        """Whether a call saw the tensor of `pair` as a parameter."""
        return any(
            (tensor := call.tensors.get(pair.source)) is not None and tensor.is_parameter
            for call in self.calls
        )

    @cached_property
    def pinned(self) -> frozenset[Pair]:
        return frozenset().union(*(self.plan.predictors[frame.key].pinned for frame in self.frames))

    @cached_property
    def planned(self) -> tuple[Pair, ...]:
        """The pairs that are to be declared, vary in this code, and are not pinned by it."""
        return tuple(
            pair for pair in self.plan.pairs if pair in self.varying and pair not in self.pinned
        )

    def with_cause(self, *kinds: CauseKind) -> Iterator[tuple[Recompile, Seen]]:
        """Recompiles that the advice does not remove, with their causes of these kinds."""
        for recompile in self.recompiles:
            if not recompile.removed:
                yield from ((recompile, cause) for cause in recompile.causes if cause.kind in kinds)


@dataclass(frozen=True)
class Rule:
    """A rule: its documentation, which `pgo-advisor explain` prints, and what finds it.

    `causes` are the kinds of causes that it answers. `find` is None for rules whose result is advice: the
    planner and `pgo_advisor.advice` apply them.
    """

    id: str
    title: str
    causes: tuple[CauseKind, ...]
    reason: str
    example: str
    remedy: str
    unless: str
    find: Callable[[Group], Iterable[Finding]] | None = None


def finding(
    rule: str,
    group: Group,
    causes: Iterable[tuple[Recompile, Seen]],
    summary: Callable[[list[Seen]], str],
    fix: str,
    evidence: Iterable[str] = (),
) -> Iterator[Finding]:
    """One finding for all the given causes of a group; none if there are none."""
    found = list(causes)
    if not found:
        return
    recompiles = {recompile.compile: recompile for recompile, _ in found}
    seen = [cause for _, cause in found]
    yield Finding(
        rule=rule,
        frames=(group.id,),
        summary=summary(seen),
        fix=fix,
        compiles=len(recompiles),
        seconds=sum(recompile.seconds for recompile in recompiles.values()),
        evidence=(*evidence, *_quoted(found)),
    )


def _quoted(found: list[tuple[Recompile, Seen]], most: int = 8) -> list[str]:
    """PyTorch's reasons, verbatim, first lines; where no reason names the cause, what changed."""
    texts = [
        f"[{recompile.compile_id}] " + (brief(cause.text) if cause.text else _change(cause))
        for recompile, cause in found
    ]
    rest = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return texts[:most] + rest


def _change(cause: Seen) -> str:
    where = "" if cause.source is None else f" {cause.source}"
    dim = "" if cause.dim is None else f" dim {cause.dim}"
    change = f": {cause.expected} → {cause.actual}" if cause.expected and cause.actual else ""
    return f"{cause.kind.value}{where}{dim}{change}"


def brief(reason: str) -> str:
    """PyTorch's reason without its stack and without its general remark on 0/1 specialization."""
    return reason.partition("\n")[0].partition(" (user code shown is first use")[0]


def sources(seen: Iterable[Seen], most: int = 4) -> str:
    """The sources that causes name, as a phrase."""
    names = list(dict.fromkeys(cause.source for cause in seen if cause.source))
    if not names:
        return "an input"
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def values(seen: Iterable[Seen], most: int = 6) -> str:
    """The values that causes tell of, as a phrase: `0.1, 0.2, 0.3`; empty if they tell none."""
    found = dict.fromkeys(
        value for cause in seen for value in (cause.expected, cause.actual) if value is not None
    )
    shown = ", ".join(list(found)[:most])
    return shown if len(found) <= most else f"{shown}, …"
