"""The compiled functions of a recording with their recompiles, over all of its processes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from pgo_advisor.analysis import Analysis
from pgo_advisor.compare.places import Checkout
from pgo_advisor.dynamo.causes import CauseKind
from pgo_advisor.replay.frames import rows
from pgo_advisor.report import Cause, FrameReport, Part, Recompile, UserLine
from pgo_advisor.rules import RULES, Rule
from pgo_advisor.rules.user_lines import stated_in

_RESUMED = re.compile(r"\A(torch_dynamo_resume_in_.*)_at_\d{1,9}\Z")
_REASON = re.compile(r"^[\d/]{1,40}: ")


class Signature(Part, frozen=True, order=True):
    """What makes two recompiles of a function the same: no size, line, rank or compile id."""

    cause: str
    """A `CauseKind`, see pgo-advisor explain."""
    input: str = ""
    """`L['x'] dim 0`; empty where the cause is of no input."""

    def __str__(self) -> str:
        return f"{self.cause} {self.input}".rstrip()


class Again(Part, frozen=True):
    """A recompile."""

    signature: Signature
    compile_id: str
    changed: str
    """What became of the input: `8 → 12`; empty if the record does not tell."""
    guard: str
    """PyTorch's reason, without its stack and its hints; empty where none names the cause."""
    seconds: float
    place: UserLine
    """The line that brings it about: of the guard, else of the call, else where the function begins."""
    rule: str
    """Name of the rule that the cause falls under."""
    cure: str
    """What helps, a sentence."""


class Function(Part, frozen=True):
    """A code object. What several processes recompiled for the same cause counts once."""

    id: str
    """As the report has it."""
    name: str
    """As Dynamo has it; of a resume function without its line."""
    qualified: str | None
    """Its qualified name, if the source is at hand."""
    file: str
    line: int
    compiles: int
    """Of the process that has most, as are the graphs."""
    graphs: int
    seconds: float
    """Of all processes."""
    recompiles: tuple[Again, ...]
    traits: frozenset[str] = frozenset()
    """Its inputs and the lines that call it: what tells functions of one name apart."""

    @property
    def shown(self) -> str:
        return self.qualified or self.name


def functions_of(analysis: Analysis, checkout: Checkout | None = None) -> tuple[Function, ...]:
    """The compiled functions, the slowest first; their qualified names are looked up in the checkout."""
    tables = analysis.tables
    compiles = {row["compile"]: row for row in rows(tables.compiles)}
    again = {recompile.compile: recompile for recompile in analysis.recompiles}
    again |= _begun_before(analysis, compiles, again)
    inputs: dict[int, set[str]] = defaultdict(set)
    for row in rows(tables.inputs):
        inputs[row["compile"]].add(row["source"])
    keys = [(frame.file, frame.line, frame.name) for frame in analysis.frames]
    named = checkout.qualified(tables, keys) if checkout else {}
    by_place = groupby(sorted(compiles.values(), key=_place), key=_place)
    own = {key: list(members) for key, members in by_place}
    return tuple(
        Function(
            id=frame.id,
            name=_RESUMED.sub(r"\1", frame.name),
            qualified=named.get(key),
            file=frame.file,
            line=frame.line,
            compiles=_most(own.get(key, []), ()),
            graphs=_most(own.get(key, []), ("limit", "failed", "empty")),
            seconds=frame.seconds,
            recompiles=tuple(_recompiles(analysis, frame, own.get(key, []), again)),
            traits=frozenset(
                trait
                for row in own.get(key, [])
                for trait in (row["call_code"], *inputs[row["compile"]])
                if trait
            ),
        )
        for key, frame in zip(keys, analysis.frames, strict=True)
    )


def _place(row: Mapping[str, Any]) -> tuple[str, int, str]:
    return row["file"] or "", row["line"] or 0, row["name"] or ""


def _most(compiles: Iterable[Mapping[str, Any]], without: Collection[str]) -> int:
    """The compiles of the process that has most of them, without those of some outcomes."""
    by_log = Counter(row["log"] for row in compiles if row["outcome"] not in without)
    return max(by_log.values(), default=0)


def _begun_before(
    analysis: Analysis, compiles: Mapping[int, Mapping[str, Any]], known: Mapping[int, Recompile]
) -> dict[int, Recompile]:
    """Recompiles of functions whose first compile came before the recording: `0/2` without `0/0`."""
    failed: dict[int, list[Cause]] = defaultdict(list)
    for row in rows(analysis.tables.guard_failures):
        if row["compile"] not in known and row["against"] is None:
            fields = ("source", "dim", "expected", "actual", "text", "user_code", "user_location")
            told = {name: row[name] for name in fields}
            failed[row["compile"]].append(Cause(kind=CauseKind(row["cause"]), **told))
    return {
        key: Recompile(
            compile=key,
            log=compiles[key]["log"],
            compile_id=compiles[key]["compile_id"] or "",
            rank=compiles[key]["rank"],
            frame=compiles[key]["name"] or "",
            causes=tuple(causes),
            start=compiles[key]["start"],
            seconds=compiles[key]["seconds"] or 0.0,
            removed=False,
        )
        for key, causes in failed.items()
    }


def _recompiles(
    analysis: Analysis,
    frame: FrameReport,
    compiles: Iterable[Mapping[str, Any]],
    again: Mapping[int, Recompile],
) -> Iterator[Again]:
    """For each signature the recompiles of the process that has most of them, in the order of the trace."""
    by_log: dict[Signature, dict[int, list[tuple[int, Again]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in compiles:
        if recompile := again.get(row["compile"]):
            made = _again(analysis, frame, row, recompile)
            by_log[made.signature][row["log"]].append((row["compile"], made))
    chosen = (max(logs.values(), key=len) for logs in by_log.values())
    for _, made in sorted((pair for pairs in chosen for pair in pairs), key=lambda pair: pair[0]):
        yield made


def _again(
    analysis: Analysis, frame: FrameReport, row: Mapping[str, Any], recompile: Recompile
) -> Again:
    cause = recompile.causes[0] if recompile.causes else Cause(kind=CauseKind.unknown)
    rule, cure = _rule(analysis, frame, recompile, cause)
    return Again(
        signature=Signature(cause.kind.value, cause.where),
        compile_id=recompile.compile_id,
        changed=cause.change,
        guard=_REASON.sub("", (cause.text or "").partition("\n")[0]).partition(" # ")[0].rstrip(),
        seconds=recompile.seconds,
        place=_culprit(frame, row, cause),
        rule=rule.id,
        cure=cure,
    )


def _culprit(frame: FrameReport, row: Mapping[str, Any], cause: Cause) -> UserLine:
    line = stated_in([frame.file], cause)
    if line and line.file == frame.file:
        return line
    if row["call_file"]:
        return UserLine(row["call_file"], row["call_line"] or 1, row["call_code"])
    return UserLine(frame.file, max(1, frame.line))


def _rule(
    analysis: Analysis, frame: FrameReport, recompile: Recompile, cause: Cause
) -> tuple[Rule, str]:
    """The rule that a recompile falls under, and what helps."""
    if recompile.removed:
        varied = {(each.source, each.dim) for each in recompile.causes}
        for advice in analysis.advice:
            if frame.id in advice.frames and tuple(advice.pair) in varied:
                entry = f"Put {advice.list_entry} into TORCH_COMPILE_DYNAMIC_SOURCES."
                mark = f"Before the call: {advice.code}"
                return RULES[advice.rule], mark if advice.code else entry
    for found in analysis.findings:
        if frame.id in found.frames and cause.kind in RULES[found.rule].causes:
            return RULES[found.rule], found.fix
    rule = next((rule for rule in RULES.values() if cause.kind in rule.causes), None)
    rule = rule or RULES["unknown-cause"]
    return rule, rule.fix or f"Declare {cause.where or 'the input'} dynamic before the first call."
