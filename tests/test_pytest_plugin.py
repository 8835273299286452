"""The pytest plugin, in runs of pytest of their own, and `pgo_advisor.expect`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from programs import MINE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]


@pytest.fixture
def run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> pytest.Pytester:
    """A folder for tests, in an environment that has the plugin as an installed package has it."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    told = "".join(f"{name} = {value}\n" for name, value in points["pytest11"].items())
    info = tmp_path / "site" / "pgo_advisor_of_the_checkout-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pgo_advisor_of_the_checkout\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{told}")
    monkeypatch.setenv("PYTHONPATH", f"{info.parent}:{ROOT}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in MINE:
        monkeypatch.delenv(name, raising=False)
    return pytester


@pytest.mark.slow
def test_what_it_costs_where_it_is_not_used(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import sys

        def test_nothing_is_imported():
            assert "pgo_advisor.testing.plugin" in sys.modules
            assert not {"torch", "pandas", "numpy", "libcst", "click"} & set(sys.modules)
        """
    )
    run.runpytest_subprocess().assert_outcomes(passed=1)
    assert (
        "max_compiles(n, function='*', reset=False)"
        in run.runpytest_subprocess("--markers").stdout.str()
    )


PROGRAM = """
    import asyncio
    import unittest
    import pytest
    import torch

    def fresh(backend="eager", **options):
        def f(x, k=0):
            return x * 2 + k
        return torch.compile(f, backend=backend, **options)

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step = 0

        def forward(self, x):
            self.step += 1
            return x * self.step

    shared = fresh(fullgraph=True)
"""


@pytest.mark.torch
def test_marks(run: pytest.Pytester) -> None:
    run.makeini("[pytest]\npgo_advisor_reset = true\n")
    run.makepyfile(
        PROGRAM
        + """
    @pytest.mark.max_compiles(1)
    def test_one(): fresh()(torch.randn(3))

    @pytest.mark.max_compiles(1)
    def test_two_sizes_are_two():
        f = fresh()
        for n in (3, 4, 5): f(torch.randn(n))

    @pytest.mark.no_recompiles
    def test_counter():
        model = torch.compile(Counter(), backend="eager")
        for _ in range(3): model(torch.randn(3))

    @pytest.mark.max_recompiles(2)
    def test_counter_may():
        model = torch.compile(Counter(), backend="eager")
        for _ in range(3): model(torch.randn(3))

    @pytest.mark.no_recompiles(function="Counter.forward")
    @pytest.mark.max_recompiles(2)
    def test_the_one_that_is_named_is_caught():
        model = torch.compile(Counter(), backend="eager")
        for _ in range(3): model(torch.randn(3))

    @pytest.mark.no_recompiles(function="f")
    def test_another_is_not_looked_at():
        model = torch.compile(Counter(), backend="eager")
        for _ in range(3): model(torch.randn(3))
        fresh()(torch.randn(3))

    @pytest.mark.max_compiles(2)
    def test_two_regions():
        fresh()(torch.randn(3)); torch.compile(Counter(), backend="eager")(torch.randn(3))

    class TestUnit(unittest.TestCase):
        def setUp(self): self.f = fresh()

        @pytest.mark.max_compiles(1)
        def test_unit(self): self.f(torch.randn(3))

        @pytest.mark.max_compiles(0)
        def test_unit_too_many(self): self.f(torch.randn(3))

    @pytest.mark.max_compiles(0)
    def test_that_fails_by_itself():
        fresh()(torch.randn(3))
        assert 1 == 2

    @pytest.mark.xfail
    @pytest.mark.max_compiles(0)
    def test_expected(): fresh()(torch.randn(3))

    @pytest.mark.max_compiles(0)
    def test_nothing(): pass

    @pytest.mark.max_compiles("one", 2)
    def test_wrong_mark(): pass
    """
    )
    done = run.runpytest_subprocess("-v", "-n2", "--dist=loadfile", "-p", "no:cacheprovider")
    lines = done.stdout.str()
    failed = {
        line.split("::")[-1].split(" ")[0] for line in lines.splitlines() if "FAILED test" in line
    }
    assert failed == {
        *("test_two_sizes_are_two", "test_counter", "test_the_one_that_is_named_is_caught"),
        "test_unit_too_many",
        "test_that_fails_by_itself",
        "test_wrong_mark",
    }
    done.assert_outcomes(passed=6, failed=6, xfailed=1)
    assert "2 recompiles, 0 allowed\n" in lines
    assert "write @pytest.mark.max_compiles(n, function='*', reset=False)" in lines
    assert "PGO103 Counter.forward: 2 recompiles: int-value L['self'].step (0 → 1, 1 → 2)" in lines
    assert "self.step += 1" in lines
    assert "help: Put L['self'].step into TORCH_COMPILE_DYNAMIC_SOURCES." in lines


@pytest.mark.torch
def test_async_reset_and_the_fixture(run: pytest.Pytester) -> None:
    run.makeini("[pytest]\npgo_advisor_reset = true\n")
    # what pytest-asyncio and anyio do: the hook runs the coroutine
    run.makeconftest(
        """
        import asyncio, inspect, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                asyncio.run(pyfuncitem.obj())
                return True
        """
    )
    run.makepyfile(
        PROGRAM
        + """
    @pytest.mark.max_compiles(1)
    async def test_async():
        await asyncio.sleep(0)
        shared(torch.randn(3))

    @pytest.mark.max_compiles(0)
    async def test_async_is_reset_and_caught(): shared(torch.randn(3))

    def test_part(compiles):
        f = fresh()
        f(torch.randn(3))
        with compiles() as seen: f(torch.randn(4))
        assert seen.compiles == 1
        with pytest.raises(AssertionError, match="1 compile, 0 allowed"):
            with compiles(max_compiles=0): f(torch.randn(4))
        with compiles(max_compiles=1) as seen:
            f(torch.randn(4)); f(torch.randn(4))
        assert (seen.compiles, seen.recompiles) == (1, ())
        with compiles(max_compiles=0) as seen: pass
        assert seen.analysis is None
    """
    )
    done = run.runpytest_subprocess("-k", "async or part")
    done.assert_outcomes(passed=2, failed=1)
    assert "torch.__trace" not in done.stdout.str()
    done.stdout.fnmatch_lines(["*1 compile, 0 allowed*", "compiled: f 1 (*:7)"])


@pytest.mark.torch
def test_nothing_is_reset_unasked(run: pytest.Pytester) -> None:
    run.makepyfile(
        PROGRAM
        + """
    @pytest.mark.max_compiles(0)
    @pytest.mark.parametrize("n", [3, 4, 5])
    def test_shared(n): shared(torch.randn(n))

    @pytest.mark.no_recompiles
    @pytest.mark.parametrize("k", [0, 1])
    def test_compiled_by_an_earlier_test(k): shared(torch.randn(7), k)

    @pytest.mark.max_compiles(0)
    def test_known(): shared(torch.randn(8))

    @pytest.mark.max_compiles(0, reset=True)
    def test_forgotten(): shared(torch.randn(8))
    """
    )
    lines = run.runpytest_subprocess("-v").stdout.str()
    failed = {
        line.split("::")[1].split(" ")[0] for line in lines.splitlines() if " FAILED " in line
    }
    assert failed == {
        # 3 compiles it, 4 makes it dynamic
        *("test_shared[3]", "test_shared[4]"),
        # an int that becomes 1 is compiled again, though the first compile was in another test
        *("test_compiled_by_an_earlier_test[1]", "test_forgotten"),
    }


@pytest.mark.torch
def test_expect() -> None:
    import torch

    import pgo_advisor

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    compiled = torch.compile(f, backend="eager")
    with pgo_advisor.expect(max_compiles=1) as seen:
        compiled(torch.randn(3))
    assert seen.compiles == 1
    with (
        pytest.raises(pgo_advisor.TooManyCompilesError) as caught,
        pgo_advisor.expect(max_recompiles=0),
    ):
        compiled(torch.randn(4))
    first, what, *_ = str(caught.value).splitlines()
    assert first == "1 recompile, 0 allowed"
    assert "f: 1 recompile: tensor-size L['x'] dim 0 (3 → 4)" in what
    with pytest.raises(RuntimeError, match="size"), pgo_advisor.expect(max_compiles=0):
        compiled(torch.randn(3, 3)).view(-1, 7)
