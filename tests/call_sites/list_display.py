# f: L['xs'][1] 0
import torch

@torch.compile
def f(xs):
    return xs

f([torch.randn(2), torch.randn(3)])  # call
