import torch


@torch.compile(backend="eager")
def f(x, y):
    return x.sum() + y.sum(1)


for a, b in ((5, 4), (7, 6), (1, 6), (7, 1), (1, 1), (0, 3), (9, 8)):
    f(torch.randn(a, 3), torch.randn(2, b))
