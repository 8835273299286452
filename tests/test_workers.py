"""Where logs are read changes nothing of what is read, and a process that is killed loses no other's log."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from conftest import Trace

import pgo_advisor
from pgo_advisor.errors import ClusterError, InputError, PgoAdvisorError
from pgo_advisor.ingest import job as job_module
from pgo_advisor.ingest import workers
from pgo_advisor.ingest.job import ingest
from pgo_advisor.ingest.locate.paths import Found
from pgo_advisor.ingest.trace.tlparse import run_tlparse
from pgo_advisor.ingest.workers import run_tasks

pytestmark = pytest.mark.slow

Task = Callable[[], int]

RANKS = 6


@pytest.fixture(scope="module")
def job(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of one process, as of several ranks, and one log of a rank that is damaged."""
    directory = tmp_path_factory.mktemp("job")
    for rank in range(RANKS):
        name = f"dedicated_log_torch_trace_rank_{rank}_x.log"
        shutil.copy(trace("2.13.0", "s02_batch_and_seq"), directory / name)
        with (directory / name).open("a") as log:
            log.write(f"a line of rank {rank} that is no record\n")
    return directory


def double(number: int) -> int:
    return 2 * number


def fail() -> int:
    raise InputError("it is damaged")


def end(marker: Path | None = None) -> int:
    """Kills its process; with a marker, the first time only."""
    if marker is None or not marker.exists():
        if marker is not None:
            marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.parametrize("number", [2, 9])
def test_tasks_that_fail_leave_the_others_alone(number: int) -> None:
    tasks: list[Task] = [*(partial(double, n) for n in range(number)), fail]
    results = dict(run_tasks(tasks, None))
    error = results.pop(number)
    assert isinstance(error, PgoAdvisorError)
    assert str(error) == "it is damaged"
    assert results == {n: 2 * n for n in range(number)}


def test_tasks_that_kill_their_process(tmp_path: Path) -> None:
    tasks: list[Task] = [partial(double, n) for n in range(9)]
    tasks[4:4] = [end, partial(end, tmp_path / "once")]
    results = dict(run_tasks(tasks, None))
    error = results.pop(4)
    assert isinstance(error, InputError)
    assert "was killed" in str(error)
    assert sorted(map(str, results.values())) == sorted(map(str, [0, *range(0, 18, 2)]))


def test_threads_processes_and_a_cluster_give_the_same(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = pgo_advisor.analyze(job).to_json()
    monkeypatch.setattr(job_module, "_TOGETHER", 1)
    pooled = pgo_advisor.analyze(job).to_json()
    clustered = pgo_advisor.analyze(job, cluster="local").to_json()
    monkeypatch.setattr(workers, "_FEW", RANKS)
    threaded = pgo_advisor.analyze(job).to_json()
    assert together == pooled == clustered == threaded
    assert pooled.count("neither records nor payloads") == RANKS


def test_what_is_lost_of_logs_that_are_read_together(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "job"
    shutil.copytree(job, damaged)
    logs = sorted(damaged.iterdir())
    logs[2].write_bytes(logs[2].read_bytes().replace(b"TREE_GUARD", b"FREE_GUARD"))
    logs[4].write_bytes(logs[4].read_bytes().replace(b'"frame_id": 0', b'"frame_id": "x"'))
    together = ingest([damaged])
    assert len(together.logs) == RANKS
    assert any(f"{logs[2].name}: " in loss and "checksum" in loss for loss in together.losses)
    assert any(
        f"{logs[4].name}: " in loss and "could not be read" in loss for loss in together.losses
    )
    monkeypatch.setattr(job_module, "_TOGETHER", 1)
    alone = ingest([damaged])
    assert (together.logs, together.losses) == (alone.logs, alone.losses)


def test_logs_are_read_together_up_to_a_size(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Found("trace", log, None, log, "") for log in sorted(job.iterdir())]
    size = found[0].path.stat().st_size
    other = Found("pickle", job, None, job, "")
    monkeypatch.setattr(job_module, "_TOGETHER", 3 * size)
    groups = job_module._together([found[0], other, *found[1:]])
    assert groups == [[0, 2, 3], [1], [4, 5, 6]]


def test_a_cluster_reads_remote_logs_where_they_lie(job: Path, tmp_path: Path) -> None:
    place = tmp_path / "bucket" / "run" / "logs"
    shutil.copytree(job, place)
    (place / "notes.txt").write_text("nothing to be analysed\n")
    (place / "empty.log").touch()
    with gzip.open(place / "dedicated_log_torch_trace_rank_0_x.log.gz", "wb") as packed:
        packed.write((place / "dedicated_log_torch_trace_rank_0_x.log").read_bytes())
    (place / "dedicated_log_torch_trace_rank_0_x.log").unlink()
    run_tlparse(place / "dedicated_log_torch_trace_rank_1_x.log", place / "rank_1", timeout=60)
    (place / "dedicated_log_torch_trace_rank_1_x.log").unlink()
    url = (tmp_path / "bucket").as_uri()
    read = ingest([url], cluster="local")
    assert read.tables.compiles["rank"].tolist() == [r for r in range(RANKS) for _ in range(3)]
    name = "dedicated_log_torch_trace_rank_{}_x.log"
    assert [str(log.relative_to(Path(url, "run", "logs"))) for log in read.logs] == [
        f"{name.format(0)}.gz/{name.format(0)}",
        "rank_1",
        *map(name.format, range(2, RANKS)),
    ]
    with pytest.raises(InputError, match="holds nothing that can be analysed"):
        ingest([f"{url}/run/logs/notes.txt"], cluster="local")


def test_a_worker_of_a_cluster_that_is_killed(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        tasks: list[Task] = [
            partial(end, tmp_path / "once"),
            *(partial(double, n) for n in range(1, 8)),
        ]
        results = dict(run_tasks(tasks, cluster.scheduler_address))
    assert results == {n: 2 * n for n in range(8)}


def test_a_task_that_kills_every_worker_fails_alone() -> None:
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        tasks: list[Task] = [end, partial(double, 1)]
        results = dict(run_tasks(tasks, cluster.scheduler_address))
    error = results.pop(0)
    assert isinstance(error, InputError)
    assert "was killed" in str(error)
    assert results == {1: 2}


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9: "):
        list(run_tasks([partial(double, 1)], "tcp://127.0.0.1:9"))
    with pytest.raises(ClusterError, match="nowhere at all is no address of a Dask scheduler"):
        list(run_tasks([partial(double, 1)], "nowhere at all"))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'pgo-advisor\[cluster\]'"):
        list(run_tasks([partial(double, 1)], "local"))


def test_a_script_without_a_main_guard(job: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import pgo_advisor\nprint(len(pgo_advisor.analyze({str(job)!r}).logs))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{RANKS}\n", "")


def test_small_logs_have_their_files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    if not Path("/dev/shm").is_dir():
        pytest.skip("only Linux has it")
    with job_module._in_memory() as place:
        assert place is not None
        assert place.parent == Path("/dev/shm")
        (place / "part.log").write_text("x")
    assert not place.exists()
    monkeypatch.setattr(job_module, "_ROOM_IN_MEMORY", 1 << 60)
    with job_module._in_memory() as place:
        assert place is None
    monkeypatch.undo()
    monkeypatch.setenv("TMPDIR", "/tmp")
    with job_module._in_memory() as place:
        assert place is None
