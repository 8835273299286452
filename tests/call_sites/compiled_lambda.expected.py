# <lambda>: L['x'] 0
import torch

fast = torch.compile(lambda x: x)
x = torch.randn(4)
torch._dynamo.mark_dynamic(x, 0)
fast(x)  # call
