"""What `pgo-advisor record` costs over TORCH_TRACE alone: `python -m scripts.bench_record`.

Runs a program that computes and recompiles now and then, in turn with TORCH_TRACE and under `record`, with
new caches each time, and prints the wall time until the program ends, and of the analysis after it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import click

PROGRAM = """
import sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8)))
steps = int(sys.argv[1])
@torch.compile(backend="eager")
def step(x, flag): return model(x).relu().sum() + (1 if flag is None else flag)
for number in range(steps):
    # another value now and then: a few recompiles over the run
    step(torch.randn(64 + number % 3, 256), None if number < steps // 2 else float(number // (steps // 4)))
print(time.time())
"""


@click.command()
@click.option("--steps", default=20_000, show_default=True, help="Steps of the program.")
@click.option("--rounds", default=3, show_default=True)
def main(steps: int, rounds: int) -> None:
    """Compare `record` with TORCH_TRACE alone."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        program = folder / "program.py"
        program.write_text(PROGRAM)
        command = [sys.executable, str(program), str(steps)]
        record = [sys.executable, "-m", "pgo_advisor", "record", "--", *command]
        figures: dict[str, list[float]] = {"trace": [], "record": [], "analysis": []}
        for number in range(rounds):
            environment = {
                **os.environ,
                "TORCH_TRACE": str(folder / f"trace_{number}"),
                "TORCH_COMPILE_JOB_ID": "bench",
                "TORCHINDUCTOR_CACHE_DIR": str(folder / f"caches_{number}"),
            }
            program_ends, whole = _time(command, environment)
            figures["trace"].append(program_ends)
            program_ends, whole = _time(record, dict(os.environ))
            figures["record"].append(program_ends)
            figures["analysis"].append(whole - program_ends)
            click.echo({name: round(values[-1], 2) for name, values in figures.items()})
    trace, recorded = median(figures["trace"]), median(figures["record"])
    click.echo(
        f"to the program's end: {trace:.2f} s with TORCH_TRACE, {recorded:.2f} s under record "
        f"({100 * (recorded / trace - 1):+.1f} %); then {median(figures['analysis']):.2f} s for the analysis"
    )


def _time(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until the program's last statement, and until all has ended."""
    start = time.time()
    done = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return float(done.stdout) - start, time.time() - start


if __name__ == "__main__":
    main()
