# f: L['x'] 0 none
import torch

@torch.compile
def f(x):
    return x

for x in (torch.randn(4), None):
    if x is not None:
        torch._dynamo.mark_dynamic(x, 0)
    f(x)  # call
