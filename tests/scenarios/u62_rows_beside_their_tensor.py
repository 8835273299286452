import torch


@torch.compile(backend="eager")
def f(x):
    pairs = x.view(-1, 2)
    total = pairs.sum()
    torch._dynamo.graph_break()
    return total + pairs[1:].mean() + x.mean()


for width in (11, 10, 9):
    f(torch.randn(4, width))
