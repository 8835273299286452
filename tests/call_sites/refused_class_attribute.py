# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: class
class Config:
    value = f(torch.randn(4))  # call
