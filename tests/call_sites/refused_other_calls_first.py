# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: something else first
out = (torch.randn(2), f(torch.randn(4)))  # call
