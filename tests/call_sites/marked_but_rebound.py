# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
x = torch.randn(5)
f(x)  # call
