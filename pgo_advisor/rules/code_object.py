"""A function with all that is known of it: what a verdict, advice and findings are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.releases import TorchRelease
from pgo_advisor.dynamo.sources import SourceDim, is_module, whole_number
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.frames import UNKNOWN, Frame
from pgo_advisor.replay.plan import Plan
from pgo_advisor.report import Cause, Recompile


@dataclass(frozen=True)
class CodeObject:
    """A code object with its frames in all logs: what a verdict and a finding are about."""

    id: str
    frames: tuple[Frame, ...]
    recompiles: tuple[Recompile, ...]
    plan: Plan
    release: TorchRelease | None

    @property
    def name(self) -> str:
        return self.frames[0].name

    @property
    def told_name(self) -> str:
        """The name, as a sentence has it also where no record tells it."""
        return "a function that the text does not name" if self.name == UNKNOWN else self.name

    @cached_property
    def compiles(self) -> tuple[Compile, ...]:
        return tuple(call for frame in self.frames for call in frame.compiles)

    @cached_property
    def varying(self) -> dict[SourceDim, tuple[int | str, ...]]:
        """What took several values in a frame, with these, in the order of the compiles."""
        observed = [self.plan.predictors[frame.key].observed for frame in self.frames]
        pairs = dict.fromkeys(
            pair
            for each in observed
            for pair in (
                *each.varying,
                *each.at_limit,
                *(pair for pair in self.plan.pairs if each.concerns(pair)),
            )
        )
        late = [item for each in observed for item in each.at_limit.items()]
        return {
            pair: tuple(
                dict.fromkeys(
                    [
                        *(v for call in self.compiles if (v := _value(call, pair)) is not None),
                        *(v for other, met in late if other == pair for v in sorted(met, key=str)),
                    ]
                )
            )
            for pair in pairs
        }

    def is_parameter(self, pair: SourceDim) -> bool:
        """Whether a call saw the tensor of `pair` as a parameter."""
        return any(
            (tensor := call.tensors.get(pair.source)) is not None and tensor.is_parameter
            for call in self.compiles
        )

    @cached_property
    def specialized(self) -> frozenset[SourceDim]:
        return frozenset().union(
            *(self.plan.predictors[frame.key].observed.specialized for frame in self.frames)
        )

    @cached_property
    def planned(self) -> tuple[SourceDim, ...]:
        """The pairs that are to be declared, vary in this code, and are not pinned by it."""
        return tuple(
            pair
            for pair in self.plan.pairs
            if pair in self.varying and pair not in self.specialized
        )

    def with_cause(self, *kinds: CauseKind) -> Iterator[tuple[Recompile, Cause]]:
        """Recompiles that the advice does not remove, with their causes of these kinds.

        Where a module of another class, or another function, runs the code, all else that differs follows
        from that.
        """
        for recompile in self.recompiles:
            if not recompile.removed:
                other = [
                    cause
                    for cause in recompile.causes
                    if is_of_another_class(cause) or self.of_another_function(cause)
                ]
                yield from (
                    (recompile, cause) for cause in other or recompile.causes if cause.kind in kinds
                )

    @cached_property
    def is_wrapper(self) -> bool:
        """Whether it is what PyTorch compiles for functions of its own (`wrap_inline`)."""
        file = self.frames[0].file.replace("\\", "/")
        return self.name == "inner" and file.endswith("torch/_dynamo/external_utils.py")

    def of_another_function(self, cause: Cause) -> bool:
        """Whether the wrapper runs another function or module than before."""
        return (
            self.is_wrapper
            and (cause.source or "").startswith("L['fn']")
            and cause.kind in (CauseKind.object_identity, CauseKind.object_type)
        )

    @cached_property
    def numbers_of_two_types(self) -> frozenset[str]:
        """The inputs that are an int in some calls and a float in others."""
        kinds: dict[str, set[str]] = defaultdict(set)
        for call in self.compiles:
            for source, scalar in call.scalars.items():
                kinds[source].add(scalar.kind)
        for recompile in self.recompiles:
            for cause in recompile.causes:
                if cause.kind is CauseKind.object_type and cause.expected in ("int", "float"):
                    kinds[cause.source or ""].update(("int", "float"))
        return frozenset(source for source, met in kinds.items() if {"int", "float"} <= met)

    def limits(self, name: str = "recompile_limit") -> list[int]:
        """Those under which it ran, the smallest first; empty where the record does not tell."""
        told = {
            whole_number(setting.removeprefix(f"{name}="))
            for frame in self.frames
            for setting in frame.settings
            if setting.startswith(f"{name}=")
        }
        return sorted(limit for limit in told if limit is not None)


def _value(call: Compile, pair: SourceDim) -> int | str | None:
    if pair.is_base:  # which is recorded as far as its sizes were symbols
        size = call.values.get(pair.name)
        return None if size is None else int(size)
    return call.value(pair)


def is_of_another_class(cause: Cause) -> bool:
    """Whether a module of another class runs the code."""
    return cause.kind is CauseKind.object_type and is_module(cause.source or "")


def brief(reason: str) -> str:
    """PyTorch's reason without its stack and without its general remark on 0/1 specialization."""
    return reason.partition("\n")[0].partition(" (user code shown is first use")[0]
