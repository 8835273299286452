# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: condition
out = f(torch.randn(4)) if torch else None  # call
