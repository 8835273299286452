# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

f(x=torch.randn(4))  # call
