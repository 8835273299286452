# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: lambda
step = lambda n: f(torch.randn(n))  # call
