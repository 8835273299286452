# <lambda>: L['x'] 0
import torch

fast = torch.compile(lambda x: x)
fast(torch.randn(4))  # call
