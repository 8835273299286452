# f: L['batch']['ids'] 0
import torch

@torch.compile
def f(batch):
    return batch["ids"]

data = {"ids": torch.randn(4)}
f(data)  # call
