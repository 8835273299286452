# f: L['kwargs']['ids'] 0
import torch

@torch.compile
def f(**kwargs):
    return kwargs["ids"]

ids = torch.randn(4)
torch._dynamo.mark_dynamic(ids, 0)
f(ids=ids, n=2)  # call
