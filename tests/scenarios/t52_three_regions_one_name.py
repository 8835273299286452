import torch


@torch.compile(backend="eager")
def ragged(x):
    return x.sum(0)


@torch.compile(backend="eager")
def steps(x):
    for row in range(x.shape[0]):
        x = x + row
    return x


@torch.compile(backend="eager")
def fixed(x):
    return x * 2


for n, k in ((4, 2), (6, 3), (8, 4), (10, 2)):
    ragged(torch.randn(n, 3))
    steps(torch.randn(k, 3))
    fixed(torch.randn(5))
