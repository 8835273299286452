# f: L['batch']['ids'] 0
import torch

@torch.compile
def f(batch):
    return batch["ids"]

ids = torch.randn(4)
f({"ids": ids})  # call
