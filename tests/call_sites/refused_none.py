# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: None
f(None)  # call
