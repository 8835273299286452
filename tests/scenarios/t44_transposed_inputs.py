import torch


@torch.compile(backend="eager")
def f(x):
    return x * 2 + 1


f(torch.randn(4, 6))
f(torch.randn(6, 4).t())
f(torch.randn(4, 12)[:, ::2])
