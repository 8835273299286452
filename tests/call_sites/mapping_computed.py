# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def load():
    return {"x": torch.randn(4)}

f(**load())  # call
