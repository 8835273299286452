import torch


@torch.compile(backend="eager", dynamic=False)
def f(x, y):
    return x.sum() + y.sum()


for n in (4, 6, 8, 10):
    f(torch.randn(n, 3), torch.randn(2, 5))
