# f: L['inp'].feats 0
import torch

@torch.compile
def f(inp):
    return inp.feats

class Inputs:
    def __init__(self):
        self.feats = torch.randn(3)

inp = Inputs()
torch._dynamo.mark_dynamic(inp.feats, 0)
f(inp)  # call
