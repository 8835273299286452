# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

for n in (4, 5): f(torch.randn(n))  # call
