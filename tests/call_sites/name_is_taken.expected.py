# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(x):
    x_arg = x[:3]
    torch._dynamo.mark_dynamic(x_arg, 0)
    y = f(x_arg)  # call
    return x, y

step(torch.randn(4))
