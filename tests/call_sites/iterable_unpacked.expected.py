# g: L['x'] 0, L['y'] 1
import torch

@torch.compile
def g(x, y):
    return x

def load():
    yield torch.randn(4)
    yield torch.randn(4, 2)

args = tuple(load())
torch._dynamo.mark_dynamic(args[0], 0)
torch._dynamo.mark_dynamic(args[1], 1)
g(*args)  # call
