# f: L['args'][1] 0
import torch

@torch.compile
def f(*args):
    return args

# L['args'][0] is a tensor, too
a, b = torch.randn(4), torch.randn(3)
torch._dynamo.mark_dynamic(b, 0)
f(a, b)  # call
