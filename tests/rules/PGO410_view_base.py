import torch


@torch.compile(backend="eager", dynamic=True)
def norm(x):
    return x.sin()


norm(torch.randn(8, 4)[:5])
norm(torch.randn(6, 4))
