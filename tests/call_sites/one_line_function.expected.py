# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def step(n):
    m = n + 1
    x = torch.randn(m)
    torch._dynamo.mark_dynamic(x, 0)
    return f(x)  # call

step(3)
