# f: L['x'] 0
import contextlib
import torch

@torch.compile
def f(x):
    return x

# refused: with statement
with contextlib.nullcontext(), contextlib.nullcontext(f(torch.randn(4))):  # call
    pass
