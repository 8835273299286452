"""Recordings: `trace("2.13.0", "s01_batch_dim")` is the path of one, unpacked."""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from programs import Box, alive
from sample_repository import Repository, make

import pgo_advisor
from pgo_advisor.analysis import Analysis

TESTS = Path(__file__).parent
TRACES = TESTS / "fixtures" / "traces"
RELEASE = "2.13.0"
"""The one that a fast run of the tests tries, if a test can try several."""

Trace = Callable[[str, str], Path]


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Marks what runs a program as `torch`, and what many recordings show, too, as `slow`.

    Those are the recordings of another release, and those of programs that testers found (`u01`, …).
    Tests of one recording go to one process, which analyses it once; so do those of the sample repository.
    """
    skip = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
    usual = {_without_release(item) for item in items if _release(item) == RELEASE}
    for item in items:
        if {"box", "sample"} & set(item.fixturenames):
            item.add_marker("torch")
        if item.get_closest_marker("torch"):
            item.add_marker(skip)
        other_release = _release(item) not in (None, RELEASE) and _without_release(item) in usual
        if other_release or str(_parameters(item).get("name")).startswith("u"):
            item.add_marker("slow")
        if "sample" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("sample"))
        if "analysis" in item.fixturenames and (params := _parameters(item)):
            item.add_marker(
                pytest.mark.xdist_group(f"{params.get('version')} {params.get('name')}")
            )


def _parameters(item: pytest.Function) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _release(item: pytest.Function) -> object:
    return _parameters(item).get("version")


def _without_release(item: pytest.Function) -> str:
    return item.nodeid.replace(str(_release(item)), "")


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("traces")

    @cache
    def unpacked(version: str, name: str) -> Path:
        packed = TRACES / version / name
        logs = (
            sorted(packed.glob("*.gz")) if packed.is_dir() else [packed.with_name(f"{name}.log.gz")]
        )
        target = folder / version / name
        target.mkdir(parents=True)
        for log in logs:
            with gzip.open(log) as source, (target / log.stem).open("wb") as copy:
                shutil.copyfileobj(source, copy)
        return target if packed.is_dir() else target / logs[0].stem

    return unpacked


@pytest.fixture(scope="session")
def analysis(trace: Trace) -> Callable[[str, str], Analysis]:
    return cache(lambda version, name: pgo_advisor.analyze(trace(version, name)))


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository of three commits, the second of which recompiles, with their recordings."""
    return make(tmp_path_factory.mktemp("sample"))


def recorded(version: str) -> list[str]:
    """The names of all recordings of a release."""
    return sorted(path.name.removesuffix(".log.gz") for path in (TRACES / version).iterdir())


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """Runs programs; of what they started, and of temporary files, nothing may be left after the test."""
    box = Box(tmp_path)
    marker = f"PGO_ADVISOR_TEST={tmp_path}"
    box.environment["PGO_ADVISOR_TEST"] = str(tmp_path)
    yield box
    deadline = time.monotonic() + 5
    while alive(marker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(marker) == []
    assert box.left() == []
