import torch


@torch.compile(backend="eager")
def windows(x, size):
    torch._check(x.shape[0] >= size)
    return x.unfold(0, 4, 2).mean(-1) + size


for n in (8, 10, 14, 30):
    windows(torch.randn(n), 4)
