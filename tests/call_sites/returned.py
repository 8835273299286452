# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(data):
    return f(data[:3])  # call

step(torch.randn(4))
