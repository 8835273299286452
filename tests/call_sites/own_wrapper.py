# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

def logged(*args, **kwargs):
    return f(*args, **kwargs)  # call

logged(torch.randn(4))
