# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: header
def h(a=f(torch.randn(4))):  # call
    pass
