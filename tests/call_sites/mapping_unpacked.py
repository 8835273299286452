# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

batch = {"x": torch.randn(4)}
f(**batch)  # call
