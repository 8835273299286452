# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(2)

def other():
    return x

f(torch.randn(4))  # call
other()
