import torch


@torch.compile(backend="eager")
def f(x):
    return x * 2


f(torch.ones(8, 64))
f(torch.ones(5, 64, dtype=torch.half))
f(torch.ones(6, 64, dtype=torch.double))
