# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

f(y := torch.randn(4))  # call
y
