# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

class Batch:
    ids = torch.randn(4)

b = Batch()
f(b.ids)  # call
