import torch


@torch.compile(backend="eager")
def f(x):
    return x.cumsum(0)


for i, n in enumerate((4, 4, 6, 8)):
    x = torch.randn(n, 3)
    if i:
        torch._dynamo.mark_dynamic(x, 0)
    f(x)
