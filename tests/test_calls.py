"""What `record --calls` counts, against counts made in the program itself."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from programs import Box

import pgo_advisor

pytestmark = [pytest.mark.torch, pytest.mark.slow]

COMMON = """
import torch
torch.manual_seed(0)
def run(function, sizes, make=lambda n: torch.ones(n, 4)):
    for n in sizes:
        function(make(n))
"""


def recorded(box: Box, program: str) -> pgo_advisor.Analysis:
    trace = box.folder / "trace"
    done = box.run("record", "-q", "--calls", "-o", trace, "--", *box.program(COMMON + program))
    assert done.returncode == 0, done.stderr
    return pgo_advisor.analyze(trace)


def calls_of(analysis: pgo_advisor.Analysis, name: str) -> dict[str, Any]:
    return next(c for c in analysis.to_dict()["calls"] if c["frame"] == name)


def by_graph(told: dict[str, Any]) -> dict[str, int]:
    return {graph["compile_id"]: graph["calls"] for graph in told["graphs"]}


def sizes_of(told: dict[str, Any]) -> dict[str, dict[int, int]]:
    return {f"{s['source']} {s['dim']}": dict(s["sizes"]) for s in told["sizes"]}


def test_calls_of_static_and_dynamic_graphs(box: Box) -> None:
    """The first graph takes size 3 until the dynamic one is there, which takes all sizes from then on."""
    told = calls_of(
        recorded(
            box,
            """
@torch.compile(backend="eager")
def f(x): return x * 2
run(f, [3, 3, 3, 5, 6, 3, 6, 6])
""",
        ),
        "f",
    )
    assert by_graph(told) == {"0/0": 3, "0/1": 5}
    assert sizes_of(told) == {"L['x'] 0": {3: 4, 5: 1, 6: 3}}
    assert told["eager"] == 0


def test_calls_after_the_recompile_limit_run_uncompiled(box: Box) -> None:
    """Eight graphs, for sizes 2 to 9; sizes 10 to 13 run uncompiled, in both rounds."""
    told = calls_of(
        recorded(
            box,
            """
@torch.compile(backend="eager", dynamic=False)
def f(x): return x * 2
for _ in range(2): run(f, range(2, 14))
""",
        ),
        "f",
    )
    assert by_graph(told) == {f"0/{n}": 2 for n in range(8)}
    assert told["eager"] == 8


def test_all_calls_of_inductor_with_backward_are_counted(box: Box) -> None:
    told = calls_of(
        recorded(
            box,
            """
layer = torch.nn.Linear(4, 4)
@torch.compile(backend="aot_eager")
def step(x): return layer(x).sum()
for n in [2, 3, 3, 4, 4, 4] * 50: step(torch.ones(n, 4)).backward()
""",
        ),
        "step",
    )
    assert by_graph(told) == {"0/0": 1, "0/1": 299}
    assert sizes_of(told) == {"L['x'] 0": {2: 50, 3: 100, 4: 150}}


def test_threads_lose_no_call(box: Box) -> None:
    told = calls_of(
        recorded(
            box,
            """
import threading
@torch.compile(backend="eager", dynamic=True)
def f(x): return x + 1
f(torch.ones(2))
def work():
    for n in range(1000): f(torch.ones(2 + n % 5))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
""",
        ),
        "f",
    )
    assert by_graph(told) == {"0/0": 4001}
    assert sizes_of(told) == {"L['x'] 0": {2: 801, 3: 800, 4: 800, 5: 800, 6: 800}}


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_are_counted_once_each(box: Box, way: str) -> None:
    """Each worker compiles the function itself."""
    analysis = recorded(
        box,
        f"""
import multiprocessing
@torch.compile(backend="eager", dynamic=True)
def f(x): return x + 1
def work(n): run(f, [2] * n)
if __name__ == "__main__":
    context = multiprocessing.get_context("{way}")
    workers = [context.Process(target=work, args=(n,)) for n in (20, 30)]
    [w.start() for w in workers]; [w.join() for w in workers]
""",
    )
    assert sorted(analysis.tables.calls["calls"]) == [20, 30]


def test_a_reset_begins_anew(box: Box) -> None:
    told = calls_of(
        recorded(
            box,
            """
@torch.compile(backend="eager")
def f(x): return x + 1
run(f, [2] * 3)
torch._dynamo.reset()
run(f, [2] * 5)
""",
        ),
        "f",
    )
    assert [graph["calls"] for graph in told["graphs"]] == [3, 5]


def test_results_and_the_exit_code_are_those_without_it(box: Box) -> None:
    program = """
import sys
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
optimizer = torch.optim.AdamW(model.parameters())
compiled = torch.compile(model, backend="aot_eager")
for n in [2, 3, 5, 2, 7]:
    loss = compiled(torch.randn(n, 4)).square().mean()
    loss.backward(); optimizer.step(); optimizer.zero_grad()
torch.save([p.detach() for p in model.parameters()], sys.argv[1])
sys.exit(7)
"""
    plain, watched = box.folder / "plain", box.folder / "watched"
    assert (
        subprocess.run([*box.program(COMMON + program), plain], env=box.environment).returncode == 7
    )
    done = box.run("record", "-q", "--calls", "--", *box.program(COMMON + program), watched)
    assert done.returncode == 7
    import torch

    for one, other in zip(torch.load(plain), torch.load(watched), strict=True):
        assert torch.equal(one, other)


def test_no_fault_of_it_reaches_the_program(box: Box) -> None:
    """Each function of the observer raises; the program runs as without."""
    program = (
        COMMON
        + """
import pgo_advisor_observer as observer
def fail(*args, **kwargs): raise RuntimeError("a fault of the observer")
for kind in (observer._Observer, observer._Graph, observer._Code, observer._Entry):
    for name, value in list(vars(kind).items()):
        if callable(value) and not name.startswith("watch") and name != "counting":
            setattr(kind, name, fail)
@torch.compile(backend="eager")
def f(x): return x + 1
run(f, [2, 3, 4])
torch._dynamo.reset()
run(f, [2, 3, 4])
print("ran")
"""
    )
    done = box.run("record", "-q", "--calls", "--", *box.program(program))
    assert (done.returncode, done.stdout) == (0, b"ran\n")
    assert b"a fault of the observer" not in done.stderr


def test_the_json_has_the_calls(box: Box) -> None:
    analysis = recorded(
        box,
        """
@torch.compile(backend="eager", dynamic=True)
def f(x): return x + 1
run(f, [10] * 6 + [20] * 3 + [30])
""",
    )
    told = json.loads(analysis.to_json())["calls"][0]
    # 150 in all; with graphs for 10 and 30 three calls are padded by 10, with one for 30 nine by 30 or 10
    least = {tuple(p["sizes"]): p["padding"] for p in told["sizes"][0]["paddings"]}
    assert least[10, 30] == 0.2
    assert least[30,] == 1.0
