# f: L['x'] 0 number
import torch

@torch.compile
def f(x):
    return x

for x in (torch.randn(4), 3):
    if isinstance(x, torch.Tensor):
        torch._dynamo.mark_dynamic(x, 0)
    f(x)  # call
