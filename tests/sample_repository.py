"""A repository with a program whose second commit recompiles in every step, and whose third mends that."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from programs import MINE

from pgo_advisor.run.record import record

MODEL = """import torch


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.proj(x)


class Head(torch.nn.Module):
    def forward(self, x):
        return x.sum(-1)
"""
REGRESSED = MODEL.replace(
    """Linear(8, 8)
""",
    """Linear(8, 8)
        self.step = 0
""",
).replace(
    """        return self.proj(x)
""",
    """        self.step += 1
        return self.proj(x) * self.step
""",
)
LINE = next(n for n, line in enumerate(REGRESSED.splitlines(), 1) if "self.step += 1" in line)
MENDED = MODEL.replace("class Attention", "# A step that is counted outside.\n\n\nclass Attention")
TRAIN = """import torch
from model import Attention, Head

attention = torch.compile(Attention(), backend="eager")
head = torch.compile(Head(), backend="eager")
for n in (4, 4, 5, 6):
    x = torch.randn(n, 8)
    torch._dynamo.mark_dynamic(x, 0)
    y = attention(x)
    head(y.detach())
"""
COMMITS = {"base": MODEL, "regressed": REGRESSED, "mended": MENDED}


@dataclass(frozen=True)
class Repository:
    """The checkout, and the trace of each commit."""

    root: Path
    traces: dict[str, Path]

    def check_out(self, commit: str) -> None:
        (self.root / "model.py").write_text(COMMITS[commit])

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, check=True)
        return done.stdout.decode().strip()


def make(folder: Path) -> Repository:
    """Makes the commits, and records the program at each."""
    repository = Repository(folder / "repository", {})
    repository.root.mkdir()
    (repository.root / "train.py").write_text(TRAIN)
    repository.git("init", "-q", "-b", "main")
    for commit in COMMITS:
        repository.check_out(commit)
        repository.git("add", ".")
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        repository.git(*identity, "commit", "-q", "-m", commit)
        trace = folder / commit
        trace.mkdir()
        done = record(
            [sys.executable, "train.py"],
            trace,
            directory=str(repository.root),
            variables={"OMP_NUM_THREADS": "1", **dict.fromkeys(MINE, "")},
        )
        assert done.exit_code == 0
        repository.traces[commit] = trace
    return repository


def environment() -> dict[str, str]:
    """Without what would change a recording."""
    return {name: value for name, value in os.environ.items() if name not in MINE}
