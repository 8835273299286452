"""`pgo-advisor record` on real programs: what is theirs stays theirs, and nothing is left behind."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from programs import COMPILE, Box, until_line

pytestmark = pytest.mark.torch


def test_everything_of_the_program_is_its_own(box: Box) -> None:
    program = box.program(
        COMPILE
        + "import sys\nprint(input()[::-1], sys.argv[1:])\nprint('to err', file=sys.stderr)\nsys.exit(7)"
    )
    done = box.run(
        "record", "--json", box.folder / "a.json", "--", *program, "--html", "x", input=b"abc\n"
    )
    assert done.returncode == 7
    assert done.stdout == b"cba ['--html', 'x']\n"
    assert b"to err\n" in done.stderr
    assert b"L['x']:0" in done.stderr
    report = json.loads((box.folder / "a.json").read_text())
    assert (report["totals"]["compiles"], report["dynamic_sources"]) == (2, "L['x']:0")


def test_the_trace_is_kept_where_it_is_wanted(box: Box) -> None:
    kept = box.folder / "kept"
    assert box.run("record", "-q", "-o", kept, *box.program(COMPILE)).returncode == 0
    assert [path.suffix for path in kept.iterdir()] == [".log"]
    assert box.run("record", "-o", kept, "true").returncode == 2


def test_the_crash_of_a_program(box: Box) -> None:
    done = box.run(
        "record", *box.program(COMPILE + "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    )
    assert done.returncode == 128 + signal.SIGSEGV
    assert b"L['x']:0" in done.stderr
    done = box.run("record", *box.program(COMPILE + "1 / 0"))
    assert done.returncode == 1
    assert b"ZeroDivisionError" in done.stderr
    assert b"L['x']:0" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_program_once(box: Box, number: signal.Signals) -> None:
    program = box.program(
        COMPILE
        + "import signal, sys, time\n"
        + "got = []\n"
        + f"signal.signal({int(number)}, lambda *a: got.append(1))\n"
        + "print('ready', flush=True)\n"
        + "while not got: time.sleep(0.05)\n"
        + "time.sleep(0.5)\nprint('got', len(got), flush=True)\nsys.exit(3)"
    )
    child = box.start("record", *program)
    until_line(child.stdout, b"ready")
    child.send_signal(number)
    out, err = child.communicate(timeout=120)
    assert out == b"got 1\n"
    assert child.returncode == 3
    assert b"L['x']:0" in err


def test_an_interrupted_program_is_analysed_and_takes_its_workers_along(box: Box) -> None:
    program = box.program(
        COMPILE
        + "import subprocess, sys, time\n"
        + "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        + "print('ready', flush=True)\ntime.sleep(600)"
    )
    child = box.start("record", *program)
    until_line(child.stdout, b"ready")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert b"KeyboardInterrupt" in err
    assert b"L['x']:0" in err


def test_ctrl_c_on_a_terminal(box: Box) -> None:
    program = box.program(
        COMPILE
        + "import sys, time\n"
        + "print('tty', sys.stdin.isatty(), sys.stdout.isatty(), input())\n"
        + "got = 0\n"
        + "while True:\n"
        + "    try:\n"
        + "        print('ready', flush=True)\n"
        + "        time.sleep(1.5 if got else 600)\n"
        + "        break\n"
        + "    except KeyboardInterrupt: got += 1\n"
        + "print('interrupts', got)\nsys.exit(5)"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, box.command("record", *program), box.environment)
    os.write(terminal, b"typed\n")
    seen = b""
    sent = False
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        try:
            data = os.read(terminal, 65536) if ready else b""
        except OSError:
            break
        seen += data
        if not sent and b"ready" in seen:
            os.write(terminal, b"\x03")
            sent = True
    _, status = os.waitpid(pid, 0)
    assert b"tty True True typed" in seen
    assert b"interrupts 1" in seen
    assert os.waitstatus_to_exitcode(status) == 5
    assert b"L['x']:0" in seen


def test_timeout_ends_a_program_that_will_not_end(box: Box) -> None:
    program = box.program(
        COMPILE
        + "import signal, time\n"
        + "signal.signal(signal.SIGTERM, lambda *a: print('asked', flush=True))\n"
        + "time.sleep(600)\ntime.sleep(600)"
    )
    done = box.run("record", "--timeout", 30, *program)
    assert done.returncode == 124
    assert done.stdout == b"asked\n"
    assert b"after 30 s, by --timeout" in done.stderr
    assert b"L['x']:0" in done.stderr


@pytest.mark.parametrize("until", ["2", "30s"])
def test_until(box: Box, until: str) -> None:
    done = box.run(
        "record", "--until", until, *box.program(COMPILE + "import time\ntime.sleep(600)")
    )
    assert done.returncode == 0
    assert b"as --until says" in done.stderr
    assert b"L['x']:0" in done.stderr


@pytest.mark.parametrize("until", ["0", "-1s", "soon", "nans"])
def test_until_is_above_zero(box: Box, until: str) -> None:
    assert box.run("record", "--until", until, "true").returncode == 2


def test_large_output_and_shell_scripts(box: Box) -> None:
    program = box.program(
        COMPILE + "import sys\nfor _ in range(300): sys.stdout.write('x' * 99_999 + '\\n')"
    )
    script = box.folder / "script.sh"
    script.write_text(f"#!/bin/sh\n{program[0]} {program[1]}\nexit 9\n")
    script.chmod(0o755)
    done = box.run("record", "-q", script)
    assert (done.returncode, len(done.stdout), done.stderr) == (9, 30_000_000, b"")


def test_workers(box: Box) -> None:
    program = box.program(
        "import multiprocessing as mp\n"
        "def work(n):\n"
        "    import torch\n"
        "    def f(x): return x * n\n"
        "    g = torch.compile(f, backend='eager')\n"
        "    for size in (3, 4, 5): g(torch.randn(size))\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(2) as pool: pool.map(work, [2, 3], chunksize=1)\n"
    )
    done = box.run("record", "--json", box.folder / "a.json", *program)
    assert done.returncode == 0
    report = json.loads((box.folder / "a.json").read_text())
    assert report["totals"]["compiles"] in (3, 4)  # one worker may have done both


def test_torchrun_with_two_ranks(box: Box) -> None:
    program = box.program(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "r = dist.get_rank()\n"
        "@torch.compile(backend='eager')\n"
        "def step(x, y): return (x @ y.t()).sum()\n"
        "for i in range(3): step(torch.randn(8 if r == 0 else 8 + 2 * i, 4), torch.randn(16, 4))\n"
        "dist.barrier(); dist.destroy_process_group()\n"
    )
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
    ]
    done = box.run("record", "-q", "--json", box.folder / "a.json", *launch, program[1])
    assert done.returncode == 0, done.stderr
    report = json.loads((box.folder / "a.json").read_text())
    assert report["totals"]["compiles"] == 3
    assert sorted(rank for frame in report["frames"] for rank in frame["ranks"]) == [0, 1]


def test_inductor_starts_with_empty_caches(box: Box) -> None:
    program = box.program(COMPILE.replace('(backend="eager")', ""))
    for _ in range(2):
        done = box.run("record", "-q", "--json", box.folder / "a.json", "-f", *program)
        assert (done.returncode, done.stderr) == (0, b"")
        # with the first run's profile, the second would compile once
        assert json.loads((box.folder / "a.json").read_text())["totals"]["compiles"] == 2


def test_settings_of_the_user_win(box: Box) -> None:
    own = box.folder / "own"
    own.mkdir()
    (own / "dedicated_log_torch_trace_old.log").write_text("of an earlier run")
    setting = {
        "TORCH_TRACE": str(own),
        "TORCHINDUCTOR_CACHE_DIR": str(box.folder / "caches"),
        "TORCH_COMPILE_JOB_ID": "mine",
    }
    program = box.program(COMPILE)
    done = box.run("record", *program, env=setting)
    assert b"2 compiles" in done.stderr
    assert b"a profile of an earlier run may hide recompiles" in done.stderr
    assert len(list(own.iterdir())) == 2
    # and so it does
    done = box.run("record", *program, env=setting)
    assert b"1 compile took" in done.stderr
    assert (box.folder / "caches").is_dir()


def test_why_there_is_no_compile(box: Box) -> None:
    program = box.program(COMPILE)
    off = box.run("record", *program, env={"TORCH_COMPILE_DISABLE": "1"})
    assert (off.returncode, b"TORCH_COMPILE_DISABLE is set" in off.stderr) == (0, True)
    forced = box.program(
        COMPILE.replace("for n", "torch.compiler.set_stance('force_eager')\nfor n")
    )
    stance = box.run("record", *forced)
    assert (stance.returncode, b"set_stance" in stance.stderr) == (0, True)
    dropped = box.run("record", "env", "-i", *box.program(COMPILE + "raise SystemExit(4)"))
    assert (dropped.returncode, b"did not get the environment" in dropped.stderr) == (4, True)


def test_a_program_that_cannot_be_run(box: Box) -> None:
    done = box.run("record", "no-such-program-here")
    assert done.returncode == 127
    assert done.stderr.count(b"\n") == 1
    plain = box.folder / "plain"
    plain.write_text("x")
    assert box.run("record", plain).returncode == 126
    assert box.run("record").returncode == 2


def test_recording_in_this_process(box: Box) -> None:
    program = box.program(
        COMPILE
        + "import pgo_advisor\n"
        + "with pgo_advisor.recording() as run:\n"
        + "    for n in (3, 4, 5): f(torch.randn(n))\n"
        + "print(run.analysis.totals.compiles, run.analysis.dynamic_sources)\n"
        + "print(run.analysis.frames[0].file == __file__)\n"
        + "try:\n"
        + "    with pgo_advisor.recording() as run:\n"
        + "        for n in (3, 4): f(torch.randn(n, n))\n"
        + "        1 / 0\n"
        + "except ZeroDivisionError: print(run.analysis.dynamic_sources)\n"
        + "with pgo_advisor.recording() as run: pass\n"
        + "print(run.analysis, run.notes)\n"
        + "f(torch.randn(3, 3, 3))\n"
    )
    done = subprocess.run(program, capture_output=True, env=box.environment, timeout=180)
    assert done.stdout.decode().split("\n") == [
        "2 L['x']:0",
        "True",
        "L['x']:0,L['x']:1",
        "None ('No compile was recorded.',)",
        "",
    ], done.stderr
