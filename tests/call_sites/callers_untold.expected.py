# f: L['x'] 0
import torch

def f(x):
    return x

fast = torch.compile(f)
x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
fast(x)
x = torch.randn(5)
torch._dynamo.mark_dynamic(x, 0)
fast(x)
