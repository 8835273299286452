# f: L['x'] 0
import contextlib
import torch

@torch.compile
def f(x):
    return x

with contextlib.nullcontext(f(torch.randn(4))) as y:  # call
    pass
