# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

n = 4
x = torch.randn(n)
torch._dynamo.mark_dynamic(x, 0)
f(x); n = 5  # call
