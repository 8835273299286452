# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

torch.nn.fast = True
f(torch.randn(4))  # call
