# f: L['x'] 0
import torch

def f(x):
    return x

fast = torch.compile(f)
fast(torch.randn(4))
fast(torch.randn(5))
