# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return lambda function: function

# refused: decorator
@f(torch.randn(4))  # call
def h():
    pass
