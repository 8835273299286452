"""What the calls that were counted say of each compiled function."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pgo_advisor.advice.paddings import paddings
from pgo_advisor.dynamo.shape_guards import Relation
from pgo_advisor.dynamo.sources import SourceDim, declarable, whole_number
from pgo_advisor.replay.compiles import Compile
from pgo_advisor.replay.frames import Frame, Row, rows
from pgo_advisor.report.calls import FunctionCalls, GraphCalls, Padding, SizeCalls
from pgo_advisor.rules.code_object import CodeObject
from pgo_advisor.tables import Tables


def function_calls(groups: Iterable[CodeObject], tables: Tables) -> tuple[FunctionCalls, ...]:
    """The calls of each function that has some, the most often called first; empty if none were counted."""
    counted = _by_compile(rows(tables.calls))
    if not counted:
        return ()
    met = _by_compile(rows(tables.call_sizes))
    ids = {row["compile"]: row["compile_id"] for row in rows(tables.compiles)}
    found = [_of(group, counted, met, ids) for group in groups]
    return tuple(
        sorted(
            (item for item in found if item.calls or item.eager),
            key=lambda item: -item.calls - item.eager,
        )
    )


def _by_compile(table: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    for row in table:
        found[row["compile"]].append(row)
    return found


def _of(
    group: CodeObject,
    counted: Mapping[int, Sequence[Row]],
    met: Mapping[int, Sequence[Row]],
    ids: Mapping[int, str],
) -> FunctionCalls:
    graphs = [
        _graph(frame, call, counted[call.key], ids[call.key])
        for frame in group.frames
        for call in frame.compiles
        if call.key in counted
    ]
    told = [row for call in group.compiles for row in counted.get(call.key, ()) if row["eager"]]
    seen = [row for row in told if row["eager_first"]]
    first: Row = min(seen, key=lambda row: row["eager_first"], default={})
    file, line = first.get("eager_file"), first.get("eager_line")
    return FunctionCalls(
        frame=group.id,
        calls=sum(graph.calls for graph in graphs),
        eager=sum(row["eager"] for row in told),
        eager_first=first.get("eager_first"),
        eager_place=f"{file}:{line}" if file else None,
        graphs=tuple(graph for graph in graphs if graph.calls),
        sizes=tuple(_sizes(group.compiles, counted, met)),
    )


def _graph(frame: Frame, call: Compile, told: Sequence[Row], compile_id: str) -> GraphCalls:
    timed = sum(row["timed"] or 0 for row in told)
    seconds = sum(row["seconds"] or 0.0 for row in told)
    return GraphCalls(
        compile_id=compile_id,
        rank=frame.rank,
        calls=sum(row["calls"] or 0 for row in told),
        seconds_a_call=seconds / timed if timed else None,
        compile_seconds=call.seconds,
    )


def _sizes(
    compiles: Sequence[Compile],
    counted: Mapping[int, Sequence[Row]],
    met: Mapping[int, Sequence[Row]],
) -> Iterable[SizeCalls]:
    """How often which size came, of the inputs that every graph has and that came with several."""
    called = [call for call in compiles if any(row["calls"] for row in counted.get(call.key, ()))]
    by_graph = [_of_graph(call, counted[call.key], met.get(call.key, ())) for call in called]
    for pair in by_graph[0] if by_graph else ():
        if all(pair in sizes for sizes in by_graph):
            total: Counter[int | None] = sum((sizes[pair] for sizes in by_graph), Counter())
            unlisted = total.pop(None, 0)
            sizes = {size: number for size, number in total.items() if size is not None}
            if len(sizes) > 1:
                options = () if unlisted else _options(pair, sizes, called)
                yield SizeCalls(*pair, tuple(sorted(sizes.items())), unlisted, options)


def _options(
    pair: SourceDim, sizes: Mapping[int, int], called: Iterable[Compile]
) -> tuple[Padding, ...]:
    """What the input can be padded to; nothing where the code asks for its size."""
    if pair.dim is None or any(pair in call.specialized for call in called):
        return ()
    asked = [guard.relation for call in called for guard in call.installed if not guard.duck]
    return tuple(
        option
        for option in paddings(sizes)
        if all(_takes(relation, pair, {*sizes, *option.sizes}) for relation in asked)
    )


def _takes(relation: Relation, pair: SourceDim, sizes: set[int]) -> bool:
    """Whether a guard does not ask for the input, or has the same answer for all these sizes."""
    names = {name for name in relation.names if declarable(name) == pair}
    return not names or (
        names == relation.names
        and all(relation.holds(dict.fromkeys(names, size)) for size in sizes)
    )


def _of_graph(
    call: Compile, counted: Sequence[Row], met: Sequence[Row]
) -> dict[SourceDim, Counter[int | None]]:
    """How often each size came with one graph, by input; None for calls of which it is not known."""
    calls = sum(row["calls"] or 0 for row in counted)
    found: dict[SourceDim, Counter[int | None]] = defaultdict(Counter)
    for row in met:
        symbols = zip(row["symbols"].split(", "), row["sizes"], strict=True)
        # one input can have two symbols that are equal
        sizes = {pair: size for symbol, size in symbols for pair in _named(call, symbol)}
        for pair, size in sizes.items():
            found[pair][size] += row["calls"]
    for pair in call.pairs():
        if pair in found:
            if left := calls - found[pair].total():
                found[pair][None] = left
        else:
            value = call.value(pair)
            size = value if isinstance(value, int) else whole_number(str(value))
            found[pair][None if pair in call.free else size] = calls
    return found


def _named(call: Compile, symbol: str) -> set[SourceDim]:
    """The inputs that a symbol stands for: those that duck sizing gave it, too."""
    pair = declarable(call.symbols.get(symbol, ""))
    return {pair, *call.equal_pairs(pair)} if pair else set()
