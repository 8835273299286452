# g: L['x'] 0, L['y'] 1
import torch

@torch.compile
def g(x, y):
    return x

out = g(  # call
    torch.randn(4),  # the first
    y=torch.randn(
        4, 2
    ),
)
