# f: L['x'] 0 maybe
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
torch._dynamo.maybe_mark_dynamic(x, 0)
f(x)  # call
