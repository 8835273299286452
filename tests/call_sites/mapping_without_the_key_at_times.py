# f: L['kwargs']['mask'] 0 lacking
import torch

@torch.compile
def f(**kwargs):
    return kwargs

for batch in ({"mask": torch.randn(4)}, {}):
    f(**batch)  # call
