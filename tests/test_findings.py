"""What findings tell beside their words: whose lines bring them about, and which recompiles they count.

`tlparse` holds recordings of meta-pytorch/tlparse, tests/inputs (BSD 3-Clause), without the records that
are not read.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from conftest import TESTS

import pgo_advisor
from pgo_advisor.errors import InputError
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
        ("reports/q15.txt", "pinned-dim", [("/home/w/scale.py:9", "return torch.ones(7) * v")]),
        # a break in the function, one in what follows
        (
            "traces/2.13.0/s07_graph_break_resume.log.gz",
            "graph-break",
            [
                (f"{APP}/s07_graph_break_resume.py:7", "torch._dynamo.graph_break()"),
                (f"{APP}/s07_graph_break_resume.py:9", "torch._dynamo.graph_break()"),
            ],
        ),
        # 0 and 1 are special in the framework: the line behind that guard is none of the user's doing
        ("traces/2.13.0/s04_zero_one.log.gz", "zero-one", []),
    ],
)
def test_lines(recording: str, rule: str, lines: list[tuple[str, str | None]]) -> None:
    assert told(findings(recording)[rule]) == lines


@pytest.mark.parametrize(
    ("recording", "rule", "summary"),
    [
        # the dim, and its values in the order of the calls
        (
            "traces/2.13.0/t33_pinned_by_constant.log.gz",
            "pinned-dim",
            "The code turns L['x'] dim 1 (8, 16, 32) into a constant, whatever is declared",
        ),
        # the old and the new value
        (
            "traces/2.13.0/u08_float_schedule.log.gz",
            "float-value",
            "A float changes: L['temperature'] (1.0, 0.9)",
        ),
        # of a bool, the guard's value tells the other one
        (
            "rules/PGO604_failed_compile.log.gz",
            "constant-value",
            "f is compiled for each of several constants: L['log'] (False, True)",
        ),
        # names of C++ in Python's
        (
            "traces/2.13.0/s12_dtype.log.gz",
            "tensor-kind",
            "A tensor changes its dtype: L['x'] (torch.float32, torch.float64, torch.bfloat16)",
        ),
        # `make.<locals>.Config` stands in each reason with another id
        (
            "rules/PGO402_class_made_anew.log.gz",
            "changing-object",
            "A class is defined anew, and is another one each time: "
            "L['config'] (__main__.make.<locals>.Config)",
        ),
    ],
)
def test_summary(recording: str, rule: str, summary: str) -> None:
    assert findings(recording)[rule].summary == summary


@pytest.mark.parametrize(
    ("recording", "says"),
    [
        ("rules/PGO402_class_made_anew.log.gz", "A higher limit is hit again"),  # whatever it is
        ("reports/q07.txt", "torch._dynamo.config.accumulated_recompile_limit"),
        ("reports/q20.txt", "record again with TORCH_TRACE=DIR, or TORCH_LOGS=recompiles"),
        ("reports/q21.txt", "A higher limit is hit again"),
        ("reports/q24.txt", "record again with TORCH_TRACE=DIR, or TORCH_LOGS=recompiles"),
        # 2.13 can raise it for one compile; a log of 2.6 or older calls it cache_size_limit
        ("traces/2.13.0/s20_recompile_limit.log.gz", "torch.compile(…, recompile_limit=N"),
        ("reports/q23.txt", "torch._dynamo.config.cache_size_limit = N"),
    ],
)
def test_remedy_at_the_limit(recording: str, says: str) -> None:
    assert says in findings(recording)["recompile-limit"].fix


def test_the_limit_that_text_tells_is_named() -> None:
    assert "(256)" in findings("reports/q07.txt")["recompile-limit"].summary


def test_functions_behind_the_wrapper_are_named_by_their_calls() -> None:
    found = findings("tlparse/collectives_parity.log.gz")
    assert list(found) == ["shared-code"]
    assert "PyTorch's wrapper inner" in found["shared-code"].summary
    assert [line.code for line in found["shared-code"].lines] == [
        "_ = compiled_graph_two(x)",
        "_ = compiled_graph_one(x, y, world_size)",
    ]


def test_a_part_of_a_log_under_another_name_is_no_disagreement() -> None:
    # the file of rank 5 holds the first half of another run of rank 1: 2 compiles instead of 4
    assert list(findings("tlparse/multi_rank_runtime")) == ["shared-code"]


def test_a_trace_of_an_export_is_called_one() -> None:
    with pytest.raises(InputError, match=r"torch\.export, .* dynamic_shapes="):
        pgo_advisor.analyze(FIXTURES / "tlparse/export_guard_added.log.gz")


def test_compiled_anew_after_a_reset_is_not_once() -> None:
    frames = pgo_advisor.analyze(FIXTURES / "tlparse/cache_hit_miss.log.gz").frames
    assert {frame.name: (frame.compiles, frame.why) for frame in frames} == {
        "_flex_attention_hop_wrapper": (
            3,
            "it was compiled 3 times, each anew: torch._dynamo.reset() came between",
        ),
        "fn": (2, "it was compiled 2 times, each anew: torch._dynamo.reset() came between"),
        "fn2": (1, "it was compiled once and never again"),
    }


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
