"""What one program's advice is worth: predicted, applied, measured."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pgo_advisor
from pgo_advisor.dynamo.source_list import encode
from pgo_advisor.dynamo.sources import SourceDim
from scripts.scenarios.run import Run, run

MARK = Path(__file__).with_name("mark.py")


@dataclass
class Score:
    """One program's row. Compiles are counts of `compilation_metrics`; None: not applicable."""

    program: str
    torch_version: str | None = None
    base: int = 0
    builtin: int | None = None
    ours: int | None = None
    marked: int | None = None
    unbacked: int | None = None
    predicted: tuple[int, int | None] = (0, 0)
    unsure: list[str] = field(default_factory=list)
    value: str = ""
    useless: list[str] = field(default_factory=list)
    """Entries that can be left out without more compiles."""
    broken: list[str] = field(default_factory=list)
    """Which runs failed that did not fail without advice."""
    expected: dict[str, Any] | None = None
    error: str = ""

    @property
    def inside(self) -> bool:
        """Whether what was measured is in the predicted range."""
        low, high = self.predicted
        return self.ours is not None and low <= self.ours and (high is None or self.ours <= high)

    @property
    def at_best(self) -> bool | None:
        """Whether the fewest known compiles were reached; None if nobody wrote down how few that is."""
        return None if self.expected is None else self.ours == self.expected["best"]

    @property
    def exact(self) -> bool:
        return self.predicted[0] == self.predicted[1]


def score(python: str, program: Path, *, leave_out: bool, marks: bool) -> Score:
    """Records, analyses, applies and measures one program."""
    sidecar = program.with_suffix(".json")
    expected = json.loads(sidecar.read_text()) if sidecar.exists() else None
    processes = (expected or {}).get("processes", 1)
    result = Score(program.stem, expected=expected)
    with tempfile.TemporaryDirectory(prefix="scenario-") as scratch:
        folder = Path(scratch)

        def again(name: str, value: str, **options: Any) -> Run:
            variables = {"TORCH_COMPILE_DYNAMIC_SOURCES": value} if value else {}
            return run(
                python,
                program,
                folder / name,
                processes=processes,
                variables={**variables, **options.pop("variables", {})},
                **options,
            )

        base = again("base", "")
        result.base = base.compiles
        if not base.compiles:
            result.error = (
                base.output.strip().splitlines()[-1] if base.output.strip() else "no compile"
            )
            return result
        analysis = pgo_advisor.analyze(folder / "base")
        report = analysis.to_dict()
        result.torch_version = report["torch_version"]
        result.predicted = tuple(report["totals"]["predicted_compiles"])
        result.unsure = sorted({text for frame in report["frames"] for text in frame["unsure"]})
        result.value = analysis.dynamic_sources

        def measured(name: str, value: str, **options: Any) -> int:
            if not value and not options:
                return base.compiles
            done = again(name, value, **options)
            if done.exit_code != base.exit_code:
                result.broken.append(name)
            return done.compiles

        result.ours = measured("ours", result.value)
        result.builtin = measured("builtin", base.suggestion)
        if marks:
            statements: dict[str, list[str]] = {}
            places = {f["id"]: f"{f['file']}:{f['line']}:{f['name']}" for f in report["frames"]}
            for advice in report["advice"]:
                if advice["code"]:
                    for frame in advice["frames"]:
                        statements.setdefault(places[frame], []).append(advice["code"])
            if statements and all(advice["code"] for advice in report["advice"]):
                (folder / "marks.json").write_text(json.dumps(statements))
                result.marked = measured(
                    "marked", "", before=[str(MARK), str(folder / "marks.json")]
                )
        if report["unbacked_sources"]:
            result.unbacked = measured(
                "unbacked",
                report["dynamic_sources_beside_unbacked"],
                variables={"TORCH_COMPILE_UNBACKED_SOURCES": report["unbacked_sources"]},
            )
        if leave_out:
            entries = [SourceDim(advice.source, advice.dim) for advice in analysis.advice]
            for number, entry in enumerate(entries[:12]):
                rest = encode([other for other in entries if other != entry], analysis.release)
                if measured(f"without-{number}", rest.value) <= result.ours:
                    result.useless.append(f"{entry.source} dim {entry.dim}")
    return result
