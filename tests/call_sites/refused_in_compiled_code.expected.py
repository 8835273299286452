# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return inner(x)

def inner(x):
    return x if len(x) else f(x[1:])

# refused: compiled itself
@torch.compile
def g(x):
    return f(x)  # call
