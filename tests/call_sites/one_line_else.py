# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

if not torch: pass
else: f(torch.randn(4))  # call
