# f: L['x'] 0
"""A program."""
from __future__ import annotations

import sys
import torch
from torch import compile, randn

@compile
def f(x):
    return x

x = randn(4)
torch._dynamo.mark_dynamic(x, 0)
f(x)  # call
