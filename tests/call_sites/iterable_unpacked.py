# g: L['x'] 0, L['y'] 1
import torch

@torch.compile
def g(x, y):
    return x

def load():
    yield torch.randn(4)
    yield torch.randn(4, 2)

g(*load())  # call
