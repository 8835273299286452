# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(n): m = n + 1; return f(torch.randn(m))  # call

step(3)
