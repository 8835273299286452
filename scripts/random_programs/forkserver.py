"""Runs programs in forks of one process that has imported PyTorch, which saves its seconds of import.

`ForkServer(python)` starts the server and gives a launcher that takes the place of the interpreter in a
command line. A fork has the caller's environment, folder and streams. What PyTorch reads from the
environment once, at its import, is set again in the fork: the trace directory and the configs below.
"""

from __future__ import annotations

import json
import os
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

STOP_AFTER = 600
"""Seconds after which a fork is killed, be its caller gone or not."""


class ForkServer:
    """A server and the launcher for it, until the `with` block ends."""

    def __init__(self, python: str) -> None:
        self._python = python

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="fork-server-")
        address = Path(self._folder.name) / "socket"
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TORCH", "PGO_"))
        }
        environment |= {
            "TORCH_TRACE": f"{self._folder.name}/unused",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
        }
        self._server = subprocess.Popen(
            [self._python, __file__, "serve", str(address)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        if self._server.stdout.readline() != "ready\n":
            raise RuntimeError(f"{self._python} did not import PyTorch")
        launcher = Path(self._folder.name) / "python"
        command = shlex.join([self._python, "-IS", __file__, "run", str(address)])
        launcher.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        launcher.chmod(0o755)
        return str(launcher)

    def __exit__(self, *_: object) -> None:
        self._server.terminate()
        self._server.wait()
        self._folder.cleanup()


def run_in_fork(address: str, arguments: list[str]) -> int:
    """The launcher's side: hands over what makes this process, and waits for the exit code."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(address)
        request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(link, [b"x"], [1, 2])
        link.sendall(json.dumps(request).encode())
        link.shutdown(socket.SHUT_WR)
        return int(link.makefile().read() or 1)


def serve(address: str) -> None:
    import numpy  # noqa: F401
    import torch._dynamo.backends.debugging
    import torch._inductor.config

    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            link, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(link)
            link.close()


def _answer(link: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(link, 1, 2)
    request = json.loads(link.makefile().read())
    child = os.fork()
    if child == 0:
        link.close()
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
        os._exit(_run(**request))
    _, status = os.waitpid(child, 0)
    link.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _run(arguments: list[str], folder: str, environment: dict[str, str]) -> int:
    signal.alarm(STOP_AFTER)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _reread_environment(environment)
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
        code: Any = 0
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


def _reread_environment(environment: dict[str, str]) -> None:
    import torch._dynamo.config
    import torch._logging._internal
    import torch.compiler.config

    handler = torch._logging._internal.LOG_TRACE_HANDLER
    assert handler is not None
    handler.root_dir = environment.get("TORCH_TRACE")
    torch.compiler.config.dynamic_sources = environment.get("TORCH_COMPILE_DYNAMIC_SOURCES", "")
    torch.compiler.config.unbacked_sources = environment.get("TORCH_COMPILE_UNBACKED_SOURCES", "")
    torch.compiler.config.job_id = environment.get("TORCH_COMPILE_JOB_ID")
    torch._dynamo.config.disable = environment.get("TORCH_COMPILE_DISABLE") == "1"


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(run_in_fork(sys.argv[2], sys.argv[3:]))
