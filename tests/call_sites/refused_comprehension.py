# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: comprehension
out = [f(torch.randn(n)) for n in (4, 5)]  # call
