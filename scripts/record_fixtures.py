"""Records programs of the tests as fixtures: `python -m scripts.record_fixtures --help`."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

import click

from scripts.scenarios.run import run

ROOT = Path(__file__).parents[1]


@click.command()
@click.argument("programs", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--python", default=sys.executable, help="Interpreter with the PyTorch to record.")
@click.option(
    "--version", help="Its release: the folder of the recordings in tests/fixtures/traces."
)
@click.option(
    "--place",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder to run the programs in: it stands in the recordings, so name a neutral one.",
)
def main(programs: tuple[Path, ...], python: str, version: str | None, place: Path) -> None:
    """Run each program in PLACE with tracing; keep its packed logs for VERSION, else beside it."""
    place.mkdir(parents=True, exist_ok=True)
    for program in programs:
        target = ROOT / "tests" / "fixtures" / "traces" / version if version else program.parent
        copy = shutil.copy(program, place / program.name)
        sidecar = program.with_suffix(".json")
        processes = json.loads(sidecar.read_text()).get("processes", 1) if sidecar.exists() else 1
        with tempfile.TemporaryDirectory() as scratch:
            done = run(python, Path(copy), Path(scratch) / "trace", processes=processes)
            logs = sorted((Path(scratch) / "trace").glob("*.log"))
            click.echo(f"{program.stem}: {done.compiles} compiles, exit code {done.exit_code}")
            folder = target / program.stem if processes > 1 else target
            folder.mkdir(parents=True, exist_ok=True)
            for log in logs:
                name = log.name if processes > 1 else f"{program.stem}.log"
                with gzip.GzipFile(folder / f"{name}.gz", "wb", compresslevel=9, mtime=0) as packed:
                    packed.write(log.read_bytes())


if __name__ == "__main__":
    main()
