# f: L['x'] 0
import contextlib
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
with contextlib.nullcontext(f(x)) as y:  # call
    pass
