# f: L['kwargs']['ids'] 0
import torch

@torch.compile
def f(**kwargs):
    return kwargs["ids"]

f(ids=torch.randn(4), n=2)  # call
