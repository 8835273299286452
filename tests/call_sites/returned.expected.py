# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(data):
    x = data[:3]
    torch._dynamo.mark_dynamic(x, 0)
    return f(x)  # call

step(torch.randn(4))
