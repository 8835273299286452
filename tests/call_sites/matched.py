# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

match f(torch.randn(4)):  # call
    case _:
        pass
