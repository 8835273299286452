# f: L['x'] 0 maybe
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
f(x)  # call
