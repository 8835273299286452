# g: L['y'] 1
import torch

@torch.compile
def g(x, y):
    return x

g(torch.randn(4), torch.randn(4, 2))  # call
