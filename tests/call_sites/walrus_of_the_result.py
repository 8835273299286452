# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

if (out := f(torch.randn(4))) is None:  # call
    pass
