import torch


@torch.compile(backend="eager")
def f(x):
    return x.cumsum(0)


for i, n in enumerate((4, 6, 8, 10)):
    x = torch.randn(n, 3)
    if i == 0:
        torch._dynamo.mark_dynamic(x, 0)
    f(x)
