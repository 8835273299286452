"""What findings tell beside their words: whose lines bring them about, and which recompiles they count."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from conftest import TESTS

import pgo_advisor
from pgo_advisor.report import Finding

FIXTURES = TESTS / "fixtures"
APP = "/home/user/app"


def findings(recording: str) -> dict[str, Finding]:
    path = TESTS / recording if recording.startswith("rules/") else FIXTURES / recording
    return {found.rule: found for found in pgo_advisor.analyze(path).findings}


def told(found: Finding) -> list[tuple[str, str | None]]:
    return [(line.place, line.code) for line in found.lines]


@pytest.mark.parametrize(
    ("recording", "rule", "lines"),
    [
        # a symbol that became a constant, from the trace and from TORCH_LOGS=dynamic
        (
            "traces/2.13.0/t33_pinned_by_constant.log.gz",
            "pinned-dim",
            [(f"{APP}/t33_pinned_by_constant.py:9", "if x.shape[1] == size:")],
        ),
        ("reports/real/pin.err", "pinned-dim", [("app/pin.py:5", "for i in range(m.size(1)):")]),
        # comments behind guards
        (
            "traces/2.13.0/s10_user_branch.log.gz",
            "size-branch",
            [("scen/s10_user_branch.py:4", "if x.shape[0] > 16:")],
        ),
        (
            "traces/2.13.0/u08_float_schedule.log.gz",
            "float-value",
            [(f"{APP}/u08_float_schedule.py:6", "p = (logits / temperature).softmax(-1)")],
        ),
        # a failed compile, and the flag that it was compiled for
        (
            "rules/PGO604_failed_compile.log.gz",
            "failed-compile",
            [(f"{APP}/PGO604_failed_compile.py:8", None)],
        ),
        (
            "rules/PGO604_failed_compile.log.gz",
            "constant-value",
            [(f"{APP}/PGO604_failed_compile.py:7", "if log:")],
        ),
        # User stack: of a ConstraintViolationError
        ("reports/q15.txt", "failed-compile", [("/home/w/scale.py:9", None)]),
        # 0 and 1 are special in the framework: the line behind that guard is none of the user's doing
        ("traces/2.13.0/s04_zero_one.log.gz", "zero-one", []),
    ],
)
def test_lines(recording: str, rule: str, lines: list[tuple[str, str | None]]) -> None:
    assert told(findings(recording)[rule]) == lines


def seconds(found: Iterable[Finding]) -> float:
    return sum(finding.seconds for finding in found)


@pytest.mark.parametrize(
    "recording",
    [
        "rules/PGO604_failed_compile.log.gz",
        "traces/2.13.0/s13_grad_mode.log.gz",
        "traces/2.13.0/u06_function_argument.log.gz",
        "traces/2.13.0/u55_new_size_at_the_limit.log.gz",
    ],
)
def test_a_recompile_counts_once(recording: str) -> None:
    path = TESTS / recording if recording.startswith("rules/") else FIXTURES / recording
    result = pgo_advisor.analyze(path)
    stay = [recompile for recompile in result.recompiles if not recompile.removed]
    assert sum(found.compiles for found in result.findings) <= len(stay)
    assert seconds(result.findings) == pytest.approx(sum(each.seconds for each in stay))
