"""Where tasks run: in threads, on a pool of processes, or on a Dask cluster, all of them `Executor`s."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import ExitStack, contextmanager
from threading import Thread
from typing import Any, TypeVar

from pgo_advisor.errors import ClusterError, InputError, PgoAdvisorError
from pgo_advisor.ingest.trace.tlparse import stop_all

Result = TypeVar("Result")

_FEW = 4
"""Threads are done with so many tasks before processes have started."""
_KILLED = "the process that read it was killed; too little memory?"


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def run_tasks(
    tasks: Sequence[Callable[[], Result]], cluster: str | None
) -> Iterator[tuple[int, Result | PgoAdvisorError]]:
    """Runs the tasks; their numbers with what they gave or why they failed, in the order in which they end.

    `cluster` is the address of a Dask scheduler, or `local` for one of this machine's own; without it, this
    machine is used. What a killed process was at fails only if it is killed again. Raises ClusterError.
    """
    left = dict(enumerate(tasks))
    while left:
        with _executor(len(left), cluster) as pool:
            for number, result in _run(pool, left):
                del left[number]
                yield number, result
        # of what was running when a process was killed, one by one shows which it was
        for number in list(left)[: cores()]:
            with _processes(1) as pool:
                alone = dict(_run(pool, {number: left.pop(number)}))
                yield number, alone.get(number, InputError(_KILLED))


def _run(
    pool: Executor, tasks: Mapping[int, Callable[[], Result]]
) -> Iterator[tuple[int, Result | PgoAdvisorError]]:
    """The same without those whose process was killed."""
    numbers = {pool.submit(task): number for number, task in tasks.items()}
    for future in as_completed(numbers):
        try:
            yield numbers[future], future.result()
        except PgoAdvisorError as error:
            yield numbers[future], error
        except BrokenExecutor:
            pass
        except _killed_worker():
            yield numbers[future], InputError(_KILLED)


def _killed_worker() -> tuple[type[BaseException], ...]:
    """What Dask raises for a task that it has tried on several workers, which all were killed."""
    distributed = sys.modules.get("distributed")
    return (distributed.KilledWorker,) if distributed else ()


@contextmanager
def _executor(tasks: int, cluster: str | None) -> Iterator[Executor]:
    if cluster is not None:
        context = _dask(cluster)
    elif tasks <= _FEW:
        context = _threads()
    else:
        context = _processes(min(tasks, cores()))
    with context as pool:
        yield pool


class _Threads(Executor):
    """A thread for each task. Who interrupts an analysis waits neither for them nor for tlparse."""

    def submit(  # type: ignore[override]
        self, task: Callable[[], Result], /
    ) -> Future[Result]:
        future: Future[Result] = Future()

        def run() -> None:
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)

        Thread(target=run, daemon=True).start()
        return future


@contextmanager
def _threads() -> Iterator[Executor]:
    try:
        yield _Threads()
    except BaseException:
        stop_all()
        raise


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    # the standard library's pool would run the caller's script again in each process
    from loky import ProcessPoolExecutor

    pool = ProcessPoolExecutor(number)
    try:
        yield pool
    finally:
        pool.shutdown(kill_workers=True)


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ClusterError(
            "--cluster takes Dask; install it with: pip install 'pgo-advisor[cluster]'"
        ) from error
    with ExitStack() as stack:
        try:
            place: Any = address
            if address == "local":
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="pgo-advisor-"))
                cluster = LocalCluster(  # type: ignore[no-untyped-call]
                    cores(), threads_per_worker=1, dashboard_address=None, local_directory=scratch
                )
                place = stack.enter_context(cluster)
            client = stack.enter_context(Client(place, timeout=10))  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise ClusterError(
                f"{address} is no address of a Dask scheduler, as tcp://scheduler:8786: {error}"
            ) from error
        except OSError as error:
            raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from error
        yield client.get_executor(pure=False)
