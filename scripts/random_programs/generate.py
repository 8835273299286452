"""`generate(seed)`: a random program that compiles functions and calls them with changing inputs."""

from __future__ import annotations

import random

from scripts.random_programs.unit import unit

_HEAD = """import math
import sys
from typing import NamedTuple

import numpy
import torch
import torch._dynamo
import torch.nn.functional as F

torch.manual_seed(0)


def helper(a, n):
    b = a * 0.5 + n
    if a.shape[0] > 6:
        b = b - b.mean()
    return b


def noisy(a, n):
    b = a - n
    torch._dynamo.graph_break()
    return b * a.shape[0]


class Batch(NamedTuple):
    ids: torch.Tensor
    mask: torch.Tensor
"""

_SETTINGS = [
    "recompile_limit = 3",
    "allow_unspec_int_on_nn_module = True",
    "automatic_dynamic_shapes = False",
    "force_parameter_static_shapes = False",
]


def generate(seed: int) -> str:
    """The same program for the same seed, whatever the interpreter; it needs nothing but PyTorch."""
    rng = random.Random(seed)
    names = ["f"] if rng.random() < 0.7 else ["f", "g"]
    units = [unit(rng, name) for name in names]
    lines = [f"# seed {seed}", *_HEAD.splitlines()]
    if rng.random() < 0.1:
        lines += ["", f"torch._dynamo.config.{rng.choice(_SETTINGS)}"]
    for each in units:
        lines += ["", "", *each.definition]
    lines += ["", "", "total = 0.0"]
    queues = [list(each.calls) for each in units]
    in_turn = rng.random() < 0.5
    while queues := [queue for queue in queues if queue]:
        lines += (rng.choice(queues) if in_turn else queues[0]).pop(0)
    lines.append('print("total", round(total, 3), file=sys.stderr)')
    return "\n".join(lines) + "\n"
