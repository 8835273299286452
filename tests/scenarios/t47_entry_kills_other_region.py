import torch


@torch.compile(backend="eager")
def score(x):
    return x.softmax(0).sum()


@torch.compile(backend="eager")
def digits(x):
    return x.sum() * len(format(x.shape[0], "d"))


for n in (6, 8, 10, 12):
    score(torch.randn(n))
    digits(torch.randn(16, 3))
