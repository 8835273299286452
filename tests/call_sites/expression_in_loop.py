# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

for n in (4, 5):
    # the model
    f(torch.randn(n))  # call
