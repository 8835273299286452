"""Records what torch.compile does in this process, as in a notebook or a test.

PyTorch reads TORCH_TRACE once, when it is imported, but what writes the trace is an ordinary handler of the
logger `torch.__trace`: `trace_structured` asks that logger for handlers at each record
(torch/_logging/_internal.py; tried on 2.13). So one more handler records from now on. It lacks what was
recorded before: the numbers of file names, which are written once in a process, are written again for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgo_advisor.errors import InputError, NoCompileError
from pgo_advisor.files import remove_directory

if TYPE_CHECKING:
    from pgo_advisor.analysis import Analysis


class InProcess:
    """A recording in this process. `analysis` is there once the context has ended."""

    def __init__(self) -> None:
        self.analysis: Analysis | None = None
        """None while recording, and where nothing was compiled."""
        self.notes: tuple[str, ...] = ()
        """What has to be known of the recording, in sentences."""

    def __repr__(self) -> str:
        return repr(self.analysis) if self.analysis else "<Recording: no compile recorded>"

    def _repr_html_(self) -> str:
        return self.analysis._repr_html_() if self.analysis else "<p>No compile was recorded.</p>"


@contextmanager
def recording(*, reset: bool = True) -> Iterator[InProcess]:
    """Records the compiles of this process within the context, and analyses them at its end.

    PyTorch is imported. `reset` drops everything that was compiled before (`torch._dynamo.reset()`), and
    gives Inductor new caches, so that the compiles are those of a new process; without it, what an earlier
    call compiled is not recorded again. Other processes, as those of torchrun, are not recorded: use
    `pgo-advisor record`. If the body raises, what was recorded until then is analysed all the same.

    Raises InputError if this PyTorch has no such handler, PgoAdvisorError if the analysis fails.
    """
    from pgo_advisor.analysis import analyze

    run = InProcess()
    trace = Path(tempfile.mkdtemp(prefix="pgo-advisor-trace-"))
    try:
        with ExitStack() as stack:
            _attach(trace, stack, reset=reset)
            # the exception is not for the caches' context: it would keep its directory
            try:
                yield run
            finally:
                stack.close()
                if reset and (job := os.environ.get("TORCH_COMPILE_JOB_ID")):
                    run.notes = (
                        f"TORCH_COMPILE_JOB_ID is set ({job}): a profile of an earlier run may hide "
                        "recompiles.",
                    )
                logs = [path for path in trace.glob("*.log") if path.stat().st_size]
                if logs:
                    with suppress(NoCompileError):
                        run.analysis = analyze(*logs)
                if run.analysis is None:
                    run.notes += ("No compile was recorded.",)
    finally:
        remove_directory(trace)


def _attach(trace: Path, stack: ExitStack, *, reset: bool) -> None:
    try:
        logging: Any = import_module("torch._logging._internal")
        structured: Any = import_module("torch._logging.structured")
        dynamo: Any = import_module("torch._dynamo")
        handler = logging.LazyTraceHandler(str(trace))
        handler.setFormatter(logging.TorchLogsFormatter(trace=True))
        known = dict(structured.INTERN_TABLE)
    except (ImportError, AttributeError, TypeError) as error:
        raise InputError(
            f"this process cannot be recorded, since {error}; use `pgo-advisor record`"
        ) from error
    if reset:
        dynamo.reset()
        utils: Any = import_module("torch._inductor.utils")
        fresh = getattr(utils, "fresh_cache", None) or utils.fresh_inductor_cache
        stack.enter_context(fresh())
    # first: PyTorch's own handler takes itself off while the handlers are called, and the next is skipped
    logging.trace_log.handlers.insert(0, handler)
    for other in logging.trace_log.handlers[1:]:
        # pytest's shows the thousands of records of a test that fails; it takes itself off without complaint
        if type(other).__module__.startswith("_pytest."):
            logging.trace_log.removeHandler(other)
    stack.callback(handler.close)
    stack.callback(logging.trace_log.removeHandler, handler)
    for name, number in known.items():
        logging.trace_structured("str", lambda pair=(name, number): pair, suppress_context=True)
