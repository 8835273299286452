import torch


def f(x):
    return x.relu().sum(0)


first = torch.compile(f, backend="eager")
second = torch.compile(f, backend="aot_eager")
for n in (4, 6, 8, 10):
    first(torch.randn(n, 3))
for n in (5, 7, 9):
    second(torch.randn(n, 3))
