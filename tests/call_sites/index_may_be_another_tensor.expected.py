# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(4, 4)
x = y[0]
torch._dynamo.mark_dynamic(x, 0)
f(x)  # call
