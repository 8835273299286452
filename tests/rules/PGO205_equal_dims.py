import torch


@torch.compile(backend="eager")
def f(x, y):
    if x.size(0) == y.size(0):
        return x + y
    return x.sum() + y.sum()


for a, b in ((4, 4), (5, 5), (6, 7), (8, 9)):
    f(torch.ones(a), torch.ones(b))
