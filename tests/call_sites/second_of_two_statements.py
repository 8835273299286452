# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

n = 4; f(torch.randn(n)); n = 5  # call
