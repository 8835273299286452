"""A number that is an int in most calls and a float in one."""

import torch


@torch.compile(backend="eager")
def damp(x, k):
    return x * k


for k in (2, 3, 2.5, 4):
    damp(torch.ones(4), k)
