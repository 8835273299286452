# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(4)
f(y.T)  # call
