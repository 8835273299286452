"""Whether texts can be parsed, found out in another process.

LibCST's parser recurses on the stack of the processor: 5,000 nested parentheses end its process with SIGSEGV,
and a sum of 20,000 names takes it hours (1.8, Linux). What the other process does within its limits, on a
smaller stack, this one can do as well.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

_SECONDS = 10.0
"""Of processor time, for each text."""
_MEMORY = 1 << 30
_STACK = 4 << 20
_MAX_NODES = 300_000
"""A file has about one for two characters; where each stands takes 0.1 ms a node."""
_TOO_MUCH = "is nested too deeply, or too long, to be read as Python"
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pgo_advisor.patch.parse_check import main; main()"
)


def unparsable(texts: Sequence[str]) -> list[str | None]:
    """Why each text cannot be parsed, None for those that can."""
    reasons: list[str | None] = []
    while len(reasons) < len(texts):
        reasons += _as_far_as_it_comes(texts[len(reasons) :])
        if len(reasons) < len(texts):
            reasons.append(_TOO_MUCH)
    return reasons


def _as_far_as_it_comes(texts: Sequence[str]) -> list[str | None]:
    """The same for the texts before the one that ends the process."""
    done = subprocess.run(  # noqa: S603
        # -I: the current directory is not imported from
        [sys.executable, "-I", "-S", "-c", _CHILD, json.dumps(sys.path)],
        input=json.dumps(texts).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.endswith(b" ")]


def main() -> None:
    """Reads a JSON list of texts; prints, for each, the reason as JSON on a line that a space ends."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    threading.stack_size(_STACK)
    worker = threading.Thread(target=_answer, args=(json.load(sys.stdin),))
    worker.start()
    worker.join()


def _answer(texts: Sequence[str]) -> None:
    for text in texts:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        print(json.dumps(_reason(text)), end=" \n", flush=True)


def _reason(text: str) -> str | None:
    import libcst as cst

    from pgo_advisor.patch.source_file import walk

    try:
        nodes = sum(1 for _ in walk(cst.parse_module(text)))
    except cst.ParserSyntaxError as error:
        return f"cannot be read as Python: {str(error).splitlines()[0]}"
    except (RecursionError, MemoryError):
        return _TOO_MUCH
    return _TOO_MUCH if nodes > _MAX_NODES else None
