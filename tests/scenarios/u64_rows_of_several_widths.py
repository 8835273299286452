import torch


@torch.compile(backend="eager")
def total(x):
    return x.sum(0)


@torch.compile(backend="eager")
def scores(q, k):
    return q @ k.transpose(-1, -2)


for width in (8, 5, 6, 9):
    total(torch.randn(4, width)[:, :3])
    scores(torch.randn(2, width, 8)[:, :4], torch.randn(2, 4, 8))
