# f: L['x'] 0
"""A program."""
from __future__ import annotations

import sys
from torch import compile, randn

@compile
def f(x):
    return x

x = randn(4)
f(x)  # call
