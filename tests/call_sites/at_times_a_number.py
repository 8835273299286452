# f: L['x'] 0 number
import torch

@torch.compile
def f(x):
    return x

for x in (torch.randn(4), 3):
    f(x)  # call
