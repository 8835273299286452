# f: L['n'] 0
import torch

def make(n):
    @torch.compile
    def f(x):
        return n
    return f

f = make(torch.randn(3))
# refused: no parameter
f(torch.randn(4))  # call
