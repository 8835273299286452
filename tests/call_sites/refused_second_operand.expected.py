# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: condition
out = torch and f(torch.randn(4))  # call
