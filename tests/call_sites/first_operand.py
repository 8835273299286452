# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

out = f(torch.randn(4)) is not None or None  # call
