# g: L['x'] 0 with y, L['y'] 1 with x
import torch

@torch.compile
def g(x, y=None):
    return x

x = torch.randn(4)
torch._dynamo.maybe_mark_dynamic(x, 0)
g(x)  # call
