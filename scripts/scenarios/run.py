"""Runs a program under a fresh PyTorch: a new trace directory, new caches, nothing carried over."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_METRICS = re.compile(rb'^V\d{4} [^\n]*?\] \{"compilation_metrics"', re.MULTILINE)
_SUGGESTION = re.compile(r'set environment variable TORCH_COMPILE_DYNAMIC_SOURCES="(.*)"')
_OWN = ("TORCH", "PGO_", "TRITON_")


@dataclass(frozen=True)
class Run:
    """One run: its compiles (forward, as PyTorch counts them in `compilation_metrics`) and exit code."""

    compiles: int
    exit_code: int
    output: str
    suggestion: str
    """PyTorch's own value for the list, as it stands in the last PGO artifact; empty if none."""


def run(
    python: str,
    program: Path,
    trace: Path,
    *,
    processes: int = 1,
    variables: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    timeout: float = 600,
) -> Run:
    """Runs `program`, with `before` as a script (and its arguments) that runs it, tracing into `trace`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    caches = tempfile.mkdtemp(prefix="scenario-caches-")
    environment |= {
        "TORCH_TRACE": str(trace),
        "TORCHINDUCTOR_CACHE_DIR": caches,
        "TRITON_CACHE_DIR": f"{caches}/triton",
        "TORCH_COMPILE_JOB_ID": "scenario",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        **(variables or {}),
    }
    launch = (
        [
            "-m",
            "torch.distributed.run",
            "--nproc-per-node",
            str(processes),
            "--master-port",
            _port(),
        ]
        if processes > 1
        else []
    )
    try:
        done = subprocess.run(
            [python, *launch, *before, str(program)],
            env=environment,
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
        )
        code, output = done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    except subprocess.TimeoutExpired:
        code, output = -1, f"stopped after {timeout:g} s"
    finally:
        shutil.rmtree(caches, ignore_errors=True)
    logs = [path.read_bytes() for path in sorted(trace.glob("*.log"))] if trace.is_dir() else []
    suggestions = [
        found for log in logs for found in _SUGGESTION.findall(log.decode(errors="replace"))
    ]
    return Run(
        compiles=sum(len(_METRICS.findall(log)) for log in logs),
        exit_code=code,
        output=output[-2000:],
        suggestion=suggestions[-1] if suggestions else "",
    )


def _port() -> str:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
