# f: L['xs'][1] 0 lacking
import torch

@torch.compile
def f(xs):
    return xs

y = torch.randn(3)
torch._dynamo.mark_dynamic(y, 0)
f([torch.randn(2), y])  # call
f([y])
