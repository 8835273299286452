# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

f(torch.randn(4))
f(torch.randn(5))  # call
