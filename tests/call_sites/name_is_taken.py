# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(x):
    y = f(x[:3])  # call
    return x, y

step(torch.randn(4))
