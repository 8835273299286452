import torch


@torch.compile(backend="eager", dynamic=False)
def f(x):
    first = x[:1]
    torch._dynamo.graph_break()
    return first.sum() + x.sum()


for n in (8, 9, 10):
    f(torch.randn(2, n))
