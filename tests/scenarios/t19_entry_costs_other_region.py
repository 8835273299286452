import math

import torch


@torch.compile(backend="eager")
def score(x):
    return x.softmax(0).sum()


@torch.compile(backend="eager")
def pairs(x):
    return (x @ x.t()).triu(1).sum() / math.comb(x.shape[0], 2)


for n in (6, 8, 10, 12):
    score(torch.randn(n))
    pairs(torch.randn(16, 3))
