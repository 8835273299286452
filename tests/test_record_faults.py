"""Whatever the trace directory holds and whatever of pgo-advisor fails, the program is not touched."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result
from conftest import Trace
from programs import Box, until_line

import pgo_advisor.analysis
from pgo_advisor.cli import main
from pgo_advisor.commands import record as command
from pgo_advisor.commands.outputs import Reports
from pgo_advisor.run import record as recording
from pgo_advisor.run import watch
from pgo_advisor.run.watch import TraceLogs, Watch


@pytest.fixture
def log(trace: Trace) -> str:
    """What a program does that leaves a trace, in the shell's words."""
    return f"cp {shlex.quote(str(trace('2.13.0', 's01_batch_dim')))} $TORCH_TRACE/a.log"


ODD = {
    "directory": "mkdir $TORCH_TRACE/b.log",
    "dangling link": "ln -s nowhere $TORCH_TRACE/b.log",
    "loop": "ln -s b.log $TORCH_TRACE/b.log",
    "device": "ln -s /dev/zero $TORCH_TRACE/b.log",
    "fifo": "mkfifo $TORCH_TRACE/b.log",
    "unreadable": "echo x > $TORCH_TRACE/b.log; chmod 0 $TORCH_TRACE/b.log",
    "deleted": "for n in 1 2 3 4 5 6 7 8 9; do echo > $TORCH_TRACE/b.log; rm $TORCH_TRACE/b.log; done",
    "no text": "head -c 100000 /dev/urandom > $TORCH_TRACE/b.log",
    "terabyte": "truncate -s 1T $TORCH_TRACE/b.log",
}


@pytest.mark.parametrize("odd", ODD)
def test_what_the_trace_directory_holds(odd: str, log: str, box: Box) -> None:
    script = f"{ODD[odd]}; {log}; sleep 1.2; rm -rf $TORCH_TRACE/b.log; echo done; exit 7"
    done = box.run("record", "--until", 99, "sh", "-c", script)
    assert (done.returncode, done.stdout) == (7, b"done\n")
    assert b"L['x']" in done.stderr
    assert b"Traceback" not in done.stderr


def test_odd_things_that_stay_do_not_hide_the_log(log: str, box: Box) -> None:
    kinds = ("directory", "dangling link", "fifo")
    odd = "; ".join(ODD[kind].replace("b.log", f"{kind[0]}.log") for kind in kinds)
    done = box.run("record", "sh", "-c", f"{odd}; {log}; exit 7")
    assert done.returncode == 7
    assert b"L['x']" in done.stderr


def test_the_trace_directory_is_gone(box: Box) -> None:
    done = box.run("record", "--until", 9, "sh", "-c", "rm -r $TORCH_TRACE; sleep 1.2; exit 7")
    assert done.returncode == 7
    assert b"no compile was recorded" in done.stderr


def test_a_broken_trace_is_kept(box: Box) -> None:
    done = box.run("record", "sh", "-c", "echo what > $TORCH_TRACE/a.log; exit 7")
    assert done.returncode == 7
    if kept := re.search(rb"the trace is kept in (\S+)", done.stderr):
        (log,) = Path(kept[1].decode()).iterdir()
        log.unlink()
        log.parent.rmdir()


@pytest.mark.parametrize("stream", [">/dev/full", "2>/dev/full", ">&-", "2>&-", "2>&- >&- <&-"])
def test_streams_that_cannot_be_written_to(stream: str, log: str, box: Box) -> None:
    words = box.command("record", "--json", "-", "sh", "-c", f"{log}; exit 7")
    outer = ["sh", "-c", f"{shlex.join(words)} {stream}"]
    run = subprocess.run(outer, env=box.environment, capture_output=True, timeout=120)
    assert run.returncode == 7
    for folder in box.temporary.glob("pgo-advisor-trace-*"):
        (folder / "a.log").unlink()
        folder.rmdir()


def fail(*arguments: object, **options: object) -> None:
    raise RuntimeError("injected")


def no_room(*arguments: object, **options: object) -> None:
    raise OSError(28, "No space left on device")


def no_memory(*arguments: object, **options: object) -> None:
    raise MemoryError


FAILING: dict[str, tuple[object, str]] = {
    "count": (Watch, "_count"),
    "count in a log": (Watch, "_count_in"),
    "tell": (Watch, "_tell"),
    "list the logs": (TraceLogs, "new"),
    "look at the logs": (os, "scandir"),
    "children": (psutil, "Process"),
    "analyze": (pgo_advisor.analysis, "analyze"),
    "render": (pgo_advisor.analysis.Analysis, "to_text"),
    "write": (Reports, "write"),
    "remark": (command, "remark"),
    "why nothing": (recording, "why_nothing"),
    "remove caches": (recording, "remove_directory"),
    "remove the trace": (command, "remove_directory"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", [fail, no_room, no_memory])
@pytest.mark.parametrize("what", FAILING)
def test_whatever_fails(
    what: str, how: object, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place, name = FAILING[what]
    monkeypatch.setattr(watch, "say_on_terminal", lambda: print)
    monkeypatch.setattr(place, name, how)
    made = "" if what == "why nothing" else f"{log}; "
    result = recorded(f"{made}sleep 0.7; touch {tmp_path}/ran; exit 7")
    monkeypatch.undo()
    assert (tmp_path / "ran").exists()
    assert result.exit_code == 7, result.output


def recorded(script: str, until: str = "99") -> Result:
    return CliRunner().invoke(main, ["record", "--until", until, "sh", "-c", script])


@pytest.mark.slow
@pytest.mark.parametrize("how", [fail, no_room, no_memory])
def test_a_program_is_stopped_whatever_fails(
    how: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(psutil, "Process", how)
    result = recorded("sleep 600", until="1s")
    assert result.exit_code == 0, result.output


def test_many_entries_beside_the_logs(log: str, box: Box) -> None:
    many = (
        "import os\nfor n in range(20_000): open(f\"{os.environ['TORCH_TRACE']}/{n}\", 'x').close()"
    )
    script = f"{shlex.quote(sys.executable)} -c {shlex.quote(many)}; {log}; exit 7"
    done = box.run("record", "--until", 99, "sh", "-c", script)
    assert done.returncode == 7
    assert b"L['x']" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(number: signal.Signals, box: Box) -> None:
    """The box looks for processes and temporary files that are left."""
    inner = "import os, time; os.setsid(); print('ready', flush=True); time.sleep(600)"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {inner!r}])\n"
        "time.sleep(600)"
    )
    child = box.start("record", "--until", "99", sys.executable, "-c", code)
    until_line(child.stdout, b"ready")
    child.send_signal(number)
    child.communicate(timeout=60)
    assert child.returncode in (128 + number, 130)
