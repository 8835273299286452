# f: L['xs'][1] 0
import torch

@torch.compile
def f(xs):
    return xs

xs = [torch.randn(2), torch.randn(3)]
torch._dynamo.mark_dynamic(xs[1], 0)
f(xs)  # call
