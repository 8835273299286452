# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(4)
x = y.T
torch._dynamo.mark_dynamic(x, 0)
f(x)  # call
