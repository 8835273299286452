# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def helper(y):
    # refused: which compiled code calls
    return f(y)

@torch.compile
def g(y):
    return helper(y)

x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
f(x)  # call
