# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

if f(torch.randn(4)) is not None:  # call
    pass
