# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def logged(*args, **kwargs):
    torch._dynamo.mark_dynamic(args[0], 0)
    return f(*args, **kwargs)  # call

logged(torch.randn(4))
