"""Random programs against the prediction: `python -m scripts.random_programs`, see --help."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from scripts.random_programs.forkserver import ForkServer
from scripts.random_programs.generate import generate
from scripts.random_programs.trial import Trial, attempt


@click.command()
@click.argument("what", nargs=-1, required=True)
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to run under.")
@click.option("--jobs", default=1, show_default=True, help="Programs at one time.")
@click.option(
    "--fork/--fresh", default=True, show_default=True, help="Fork runs, or start each anew."
)
@click.option("--keep", type=click.Path(path_type=Path), help="Folder to keep the programs in.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write the trials as JSON.")
def main(
    what: tuple[str, ...], python: str, jobs: int, fork: bool, keep: Path | None, out: Path | None
) -> None:
    """Try the programs that WHAT names: seeds (`17`), ranges of seeds (`100-400`), or files.

    Each is run without a list, analysed, and run with our list, PyTorch's own suggestion, everything that
    varied, all candidates, and `.*`. Exits with 1 if our list did not reach the fewest compiles, the count
    was not in the predicted range, an exact claim was wrong, or something broke.
    """
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        interpreter = stack.enter_context(ForkServer(python)) if fork else python
        pool = stack.enter_context(ThreadPoolExecutor(jobs))

        programs = [program for text in what for program in _programs(text, folder.resolve())]
        trials = []
        for result in pool.map(lambda program: attempt(interpreter, program), programs):
            trials.append(result)
            click.echo(_line(result))
    if out:
        out.write_text(json.dumps([_row(result) for result in trials], indent=1) + "\n")
    click.echo(_summary(trials))
    sys.exit(1 if any(result.violations for result in trials) else 0)


def _programs(text: str, folder: Path) -> Iterator[Path]:
    if not re.fullmatch(r"\d+(-\d+)?", text):
        yield Path(text).resolve(strict=True)
        return
    first, _, last = text.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        program = folder / f"seed_{seed:06d}.py"
        program.write_text(generate(seed), encoding="utf-8")
        yield program


def _row(trial: Trial) -> dict[str, object]:
    return (
        {**asdict(trial), "fewest": trial.fewest, "violations": trial.violations}
        if trial.base
        else asdict(trial)
    )


def _line(trial: Trial) -> str:
    if trial.discarded:
        return f"{trial.program}: discarded"
    low, high = trial.predicted
    told = str(low) if low == high else f"{low} to {'?' if high is None else high}"
    others = ", ".join(f"{name} {count}" for name, count in trial.others.items())
    remarks = "".join(f"\n    {text}" for text in trial.violations)
    counts = f"{trial.base} -> {trial.measured}, predicted {told} ({others})"
    return f"{trial.program}: {counts} {trial.value}{remarks}"


def _summary(trials: list[Trial]) -> str:
    ran = [trial for trial in trials if not trial.discarded]
    unsure = Counter(reason for trial in ran for reason in trial.unsure)
    frames = sum(trial.frames for trial in ran)
    lines = [
        f"{len(ran)} programs, {len(trials) - len(ran)} discarded",
        f"fewest known count reached: {sum(t.measured <= t.fewest for t in ran if not t.crash)}; "
        f"not reached after the recompile limit: {sum(t.limit and t.measured > t.fewest for t in ran)}",
        f"inside the range: {sum(t.inside for t in ran if not t.crash)}",
        f"exact programs: {sum(t.exact for t in ran)}; exact frames: {sum(t.exact_frames for t in ran)} "
        f"of {frames}, wrong ones: {sum(len(t.wrong_exact) for t in ran)}",
        f"frames outside of their range: {sum(len(t.wrong_frames) for t in ran)}",
        f"broken by our list: {sum('ours' in t.broken for t in ran)}",
        f"crashes of the analysis: {sum(bool(t.crash) for t in ran)}",
        *(f"unsure in {count}: {reason}" for reason, count in unsure.most_common()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
