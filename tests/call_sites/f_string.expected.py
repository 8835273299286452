# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

y = torch.randn(4)
torch._dynamo.mark_dynamic(y, 0)
print(f"{f(y)!s:.0}", end="")  # call
