import torch


@torch.compile(backend="eager", dynamic=True)
def add_rows(x, y):
    x = x * 2
    for row in y:
        x = x + row.sum()
    return x


for n, rows in ((2, 2), (3, 2), (4, 2), (5, 3)):
    add_rows(torch.randn(n), torch.randn(rows, 7))
