import torch

COUNT = 2
TABLE = torch.randn(4)


@torch.compile(backend="eager")
def f(x):
    return x * COUNT + TABLE.sum()


for _ in range(4):
    f(torch.randn(5))
    COUNT += 1
    TABLE = torch.randn(TABLE.shape[0] + 3)
