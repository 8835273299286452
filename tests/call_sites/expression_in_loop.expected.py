# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

for n in (4, 5):
    # the model
    x = torch.randn(n)
    torch._dynamo.mark_dynamic(x, 0)
    f(x)  # call
