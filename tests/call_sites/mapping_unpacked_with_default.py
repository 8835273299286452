# f: L['x'] 0
import torch

@torch.compile
def f(y=1, x=None):
    return x

for batch in ({"x": torch.randn(4)}, {}):
    f(**batch)  # call
