import torch


@torch.compile(backend="eager")
def f(x, y):
    total = x.sum()
    return total + (y.sum() if y.shape[0] > 16 else y.mean())


for batch, length in ((4, 8), (5, 9), (6, 20), (1, 10), (7, 30), (1, 40)):
    f(torch.randn(batch), torch.randn(length))
