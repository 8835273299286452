# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(2)

def other():
    return x

x_arg = torch.randn(4)
torch._dynamo.mark_dynamic(x_arg, 0)
f(x_arg)  # call
other()
