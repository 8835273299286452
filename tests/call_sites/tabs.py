# f: L['x'] 0
import torch

@torch.compile
def f(x):
    return x

if torch:
	if True:
		f(torch.randn(4))  # call
