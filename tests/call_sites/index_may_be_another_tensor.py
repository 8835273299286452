# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(4, 4)
f(y[0])  # call
