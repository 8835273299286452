# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(3)
# refused: :=
out = [(y := torch.randn(4)), f(y)]  # call
