import torch


@torch.compile(backend="eager")
def damp(x, k):
    return x * k


for k in (2, 2.5, 2, 3.5):
    damp(torch.ones(3), k)
