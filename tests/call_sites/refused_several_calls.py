# forward: L['x'] 0
import torch

def use(a, b):
    # refused: several calls
    return a(b(torch.randn(4)))  # call

class Net(torch.nn.Module):
    def forward(self, x):
        return x

use(Net(), Net())
