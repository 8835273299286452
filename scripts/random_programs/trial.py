"""One program on trial: recorded, analysed, run with our list and with others."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pgo_advisor
from pgo_advisor.dynamo.source_list import encode
from pgo_advisor.dynamo.sources import SourceDim
from pgo_advisor.replay.frames import frames_of
from pgo_advisor.replay.plan import choose
from scripts.scenarios.run import Run, run

Place = tuple[str, int, str]


@dataclass
class Trial:
    """What was predicted of a program, and what happened. Compiles are as `run` counts them."""

    program: str
    base: int = 0
    predicted: tuple[int, int | None] = (0, 0)
    value: str = ""
    measured: int = 0
    others: dict[str, int] = field(default_factory=dict)
    """Compiles with other lists, by what these hold."""
    frames: int = 0
    exact_frames: int = 0
    wrong_frames: list[str] = field(default_factory=list)
    """Frames whose measured compiles are not in their range."""
    wrong_exact: list[str] = field(default_factory=list)
    """Those of them whose range is a single number."""
    unsure: list[str] = field(default_factory=list)
    """Why ranges are ranges, and self-checks that failed."""
    broken: list[str] = field(default_factory=list)
    """Lists with which the program fails or computes something else; ours, if it does not without."""
    limit: bool = False
    """Whether a frame hit the recompile limit in the recorded run, which cuts the recording short."""
    discarded: bool = False
    """Whether the program fails without any compilation."""
    crash: str = ""

    @property
    def fewest(self) -> int:
        counts = [count for name, count in self.others.items() if name not in self.broken]
        return min(self.base, self.measured, *counts)

    @property
    def inside(self) -> bool:
        low, high = self.predicted
        return low <= self.measured and (high is None or self.measured <= high)

    @property
    def exact(self) -> bool:
        return self.predicted[0] == self.predicted[1]

    @property
    def violations(self) -> list[str]:
        found = []
        if self.crash:
            found.append(f"crash: {self.crash}")
        if self.measured > self.fewest:
            best = [
                name
                for name, count in self.others.items()
                if count == self.fewest and name not in self.broken
            ]
            found.append(f"not the fewest: {self.fewest} with {', '.join(best) or 'no list'}")
        if not self.inside:
            found.append("outside of the range")
        found += [f"claimed to be exact: {frame}" for frame in self.wrong_exact]
        if "ours" in self.broken:
            found.append("our list changes what the program does")
        return found


def attempt(python: str, program: Path, *, check_frames: bool = True) -> Trial:
    """Runs the trial; `python` may be a fork server's launcher."""
    trial = Trial(program.stem)
    with tempfile.TemporaryDirectory(prefix="trial-") as scratch:
        folder = Path(scratch)

        def again(name: str, **variables: str) -> Run:
            return run(python, program, folder / name, variables=variables, timeout=300)

        base = again("base")
        trial.base = trial.measured = base.compiles
        if not base.compiles or (
            base.exit_code and again("eager", TORCH_COMPILE_DISABLE="1").exit_code
        ):
            trial.discarded = True
            return trial
        try:
            analysis = pgo_advisor.analyze(folder / "base")
        except Exception as error:  # any crash of the analysis is a finding
            trial.crash = f"{type(error).__name__}: {error}"
            return trial
        report = analysis.to_dict()
        trial.predicted = tuple(report["totals"]["predicted_compiles"])
        trial.unsure = sorted({text for frame in report["frames"] for text in frame["unsure"]})
        trial.value = analysis.dynamic_sources
        trial.limit = bool((analysis.tables.compiles["outcome"] == "limit").any())
        lists = {"ours": trial.value, "PyTorch's": base.suggestion, **_other_lists(analysis)}
        runs = {"": base}
        for name, value in lists.items():
            if value not in runs:
                runs[value] = again(name, TORCH_COMPILE_DYNAMIC_SOURCES=value)
            done = runs[value]
            trial.others[name] = done.compiles
            fails = done.exit_code and name != "ours"  # who ends sooner compiles less
            if fails or (done.exit_code, _result(done)) != (base.exit_code, _result(base)):
                trial.broken.append(name)
        trial.measured = trial.others.pop("ours")
        if check_frames:
            after = folder / "ours"
            measured = (
                _compiles(pgo_advisor.analyze(after)) if after.is_dir() else _compiles(analysis)
            )
            _check_frames(trial, report, measured)
    return trial


def _result(run: Run) -> str:
    """The program's last line on its error stream; not what PyTorch logs there."""
    found = re.findall(r"^total .*$", run.output, re.MULTILINE)
    return found[-1] if found else ""


def _other_lists(analysis: Any) -> dict[str, str]:
    frames = frames_of(analysis.tables)
    predictors = choose(frames, by_dim=True).predictors.values()
    varying = dict.fromkeys(pair for predictor in predictors for pair in predictor.observed.varying)
    specialized = {pair for predictor in predictors for pair in predictor.observed.specialized}
    candidates = [pair for pair in varying if pair not in specialized and not pair.is_base]

    def value(pairs: list[SourceDim]) -> str:
        return encode(pairs, analysis.release).value

    return {
        "all that varies": value(list(varying)),
        "all candidates": value(candidates),
        "everything": ".*",
    }


def _place(frame: dict[str, Any]) -> Place:
    return (frame["file"], frame["line"], frame["name"])


def _compiles(analysis: Any) -> Counter[Place]:
    counts: Counter[Place] = Counter()
    for frame in analysis.to_dict()["frames"]:
        counts[_place(frame)] += frame["compiles"]
    return counts


def _check_frames(trial: Trial, report: dict[str, Any], measured: Counter[Place]) -> None:
    for frame in report["frames"]:
        low, high = frame["predicted_compiles"]
        count = measured[_place(frame)]
        trial.frames += 1
        trial.exact_frames += low == high
        if count < low or (high is not None and count > high):
            told = f"{frame['id']}: {low} to {'?' if high is None else high}, measured {count}"
            trial.wrong_frames.append(told)
            if low == high:
                trial.wrong_exact.append(told)
