import torch


@torch.compile(backend="eager")
def f(x, part):
    return x.sum() + part * 2


pool = torch.randn(64, 3)
for n in (8, 10, 12, 20):
    base = torch.randn(n + 7, 3)
    f(base[:n], pool[: n // 2])
