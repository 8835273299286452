# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

rows = [row for row in f(torch.randn(4))]  # call
