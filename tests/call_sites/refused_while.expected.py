# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: while
while f(torch.randn(4)) is None:  # call
    pass
