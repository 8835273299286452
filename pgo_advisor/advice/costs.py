"""What a declaration may cost: every reason, seen in the trace, why a dynamic kernel may be worse."""

from __future__ import annotations

from collections.abc import Iterator

from pgo_advisor.advice.words import Cost, Said
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.rules.code_object import CodeObject

_MANY = 50
_LONGEST_CODE = 120
_BRANCHES = (CauseKind.symbolic_range, CauseKind.divisibility, CauseKind.symbolic_relation)
_SETTINGS = {"cudagraphs": Cost.cudagraphs, "max_autotune": Cost.max_autotune}


def costs(group: CodeObject, pair: SourceDim) -> Iterator[Said]:
    """What is seen of one pair of one code object."""
    if pair.dim is not None:
        yield from _small_size(group, pair)
    yield from _decided(group, pair)
    if pair.dim is not None:
        yield from _of_static_kernels(group, pair)
    settings = frozenset().union(*(frame.settings for frame in group.frames))
    yield from (cost() for name, cost in _SETTINGS.items() if name in settings)
    if any(call.dynamic == "false" for call in group.compiles):
        yield Cost.static_chosen()
    if group.is_parameter(pair):
        yield Cost.parameter()
    if len(group.planned) > _MANY:
        yield Cost.many_symbols(number=len(group.planned))


def _small_size(group: CodeObject, pair: SourceDim) -> Iterator[Said]:
    if small := [str(size) for size in (0, 1) if size in group.varying[pair]]:
        yield Cost.small_size(sizes=" and ".join(small))


def _decided(group: CodeObject, pair: SourceDim) -> Iterator[Said]:
    for _, cause in group.with_cause(*_BRANCHES):
        if cause.source == pair.source:
            code = cause.user_code or cause.text or ""
            yield Cost.decided(code=code.strip()[:_LONGEST_CODE])
            return


def _of_static_kernels(group: CodeObject, pair: SourceDim) -> Iterator[Said]:
    values = group.varying[pair]
    sizes = [value for value in values if isinstance(value, int) and value > 1]
    if len(values) == 2:
        yield Cost.two_sizes(first=values[0], second=values[1])
    if sizes and all(size % 8 == 0 for size in sizes):
        yield Cost.multiples()
