# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
out = f(x)  # call
