# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: binds torch
for torch in (torch, torch):
    f(torch.randn(4))  # call
