import torch


@torch.compile(backend="eager")
def f(x):
    return x.sum((1, 2)) * 0.5


for shape in ((2, 3, 4), (5, 3, 4), (5, 6, 4), (5, 6, 7), (8, 9, 10)):
    f(torch.randn(shape))
