# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4)
torch._dynamo.mark_static(x, 0)
# refused: marked static
f(x)  # call
