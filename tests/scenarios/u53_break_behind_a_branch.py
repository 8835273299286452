import torch


def scale(x, k):
    if k % 2:
        return torch.zeros(())
    torch._dynamo.graph_break()
    return x + k


@torch.compile(backend="eager")
def f(x, k):
    return scale(x, k)


for n, k in ((9, 3), (9, 4), (6, 3), (6, 4), (5, 4)):
    f(torch.ones(n), k)
