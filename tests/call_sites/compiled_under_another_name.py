# f: L['x'] 0
import torch

def f(x):
    return x

fast = torch.compile(f)
print(fast(torch.randn(4)), end="")  # call
