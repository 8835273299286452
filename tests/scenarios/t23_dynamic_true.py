import torch


@torch.compile(backend="eager", dynamic=True)
def f(x, k):
    return x * k + x.mean()


for n, k in ((4, 3), (7, 5), (1, 5), (9, 6)):
    f(torch.randn(n, 3), k)
