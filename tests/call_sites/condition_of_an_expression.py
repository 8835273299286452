# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

out = 1 if f(torch.randn(4)) is not None else 2  # call
