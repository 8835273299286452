# f: L['y'] 0
import torch

@torch.compile
def f(x, y=None):
    return x

# refused: not given
f(torch.randn(4))  # call
