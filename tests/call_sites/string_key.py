# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

batch = {"ids": torch.randn(4)}
f(batch["ids"])  # call
