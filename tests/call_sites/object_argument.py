# f: L['inp'].feats 0
import torch

@torch.compile
def f(inp):
    return inp.feats

class Inputs:
    def __init__(self):
        self.feats = torch.randn(3)

f(Inputs())  # call
