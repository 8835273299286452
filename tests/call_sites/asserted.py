# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

assert f(torch.randn(4)) is not None  # call
