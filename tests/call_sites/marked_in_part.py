# f: L['x'] 0, L['x'] 1
import torch

@torch.compile
def f(x):
    return x

x = torch.randn(4, 5)
torch._dynamo.mark_dynamic(x, [0])
print(end="")
f(x)  # call
