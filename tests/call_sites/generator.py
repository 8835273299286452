# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def rows():
    yield f(torch.randn(4))  # call

list(rows())
