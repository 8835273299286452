"""A function with all that is known of it: what a verdict, advice and findings are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pgo_advisor.cause_kinds import CauseKind
from pgo_advisor.findings import Recompile, Seen
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


def brief(reason: str) -> str:
    """PyTorch's reason without its stack and without its general remark on 0/1 specialization."""
    return reason.partition("\n")[0].partition(" (user code shown is first use")[0]
