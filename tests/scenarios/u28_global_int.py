import torch

WINDOW = 2


@torch.compile(backend="eager")
def banded(x):
    return x * WINDOW + x.shape[0]


for window in (2, 3, 4, 5):
    WINDOW = window
    banded(torch.randn(6, 6))
