# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

f(  # call
    torch.randn(4)
    + torch.randn(4)
)
