# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

# refused: elif
if not torch:
    pass
elif f(torch.randn(4)) is not None:  # call
    pass
