# f: L['x'] 0 none
import torch

@torch.compile
def f(x):
    return x

for x in (torch.randn(4), None):
    f(x)  # call
