# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

class Batch:
    ids = torch.randn(4)

b = Batch()
torch._dynamo.mark_dynamic(b.ids, 0)
f(b.ids)  # call
