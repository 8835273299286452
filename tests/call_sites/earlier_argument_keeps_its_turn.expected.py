# g: L['y'] 1
import torch

@torch.compile
def g(x, y):
    return x

x = torch.randn(4)
y = torch.randn(4, 2)
torch._dynamo.mark_dynamic(y, 1)
g(x, y)  # call
