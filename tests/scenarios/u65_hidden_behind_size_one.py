"""Sizes that vary only in the call in which another tensor has size 1."""

import torch


@torch.compile(backend="eager")
def f(x, y, b):
    return x.sum() + y.sum() + b.sum()


for rows, columns, length, number in ((4, 6, 8, 3), (5, 6, 8, 2), (5, 7, 9, 1)):
    f(torch.randn(rows, columns), torch.randn(length), torch.randn(number))
