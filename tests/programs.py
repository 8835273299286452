"""Real programs for the tests of `record` and `verify`, and a box to run them in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

COMPILE = """
import torch
@torch.compile(backend="eager")
def f(x): return x * 2
for n in (3, 4, 5): f(torch.randn(n))
"""
MINE = (
    *("TORCH_TRACE", "TORCH_DTRACE", "TORCH_COMPILE_JOB_ID", "TORCHINDUCTOR_CACHE_DIR"),
    "TRITON_CACHE_DIR",
)


class Box:
    """Runs `pgo-advisor` with a temporary directory of its own, in which nothing may stay."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in MINE},
            "TMPDIR": str(self.temporary),
            "OMP_NUM_THREADS": "1",
        }

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-m", "pgo_advisor", *map(str, arguments)]

    def program(self, code: str) -> list[str]:
        path = self.folder / "program.py"
        path.write_text(code)
        return [sys.executable, str(path)]

    def run(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        environment = {**self.environment, **options.pop("env", {})}
        return subprocess.run(
            self.command(*arguments), capture_output=True, env=environment, timeout=600, **options
        )

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
            preexec_fn=_heed_interrupts,
            **options,
        )

    def left(self) -> list[str]:
        """What of pgo-advisor's is left in the temporary directory."""
        return [name for name in os.listdir(self.temporary) if name.startswith("pgo-advisor")]


def _heed_interrupts() -> None:
    """What a shell starts by `&` ignores SIGINT, and so does all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def alive(marker: str) -> list[int]:
    """Processes that have the marker in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def until_line(stream: Any, text: bytes) -> None:
    """Reads lines up to one with the text; other than a sleep it is right on a slow machine, too."""
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")
