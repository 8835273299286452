import torch

TABLE = {8: 0.5, 16: 0.25, 32: 0.125}


@torch.compile(backend="eager")
def scale(x):
    for size, factor in TABLE.items():
        if x.shape[1] == size:
            return x * factor
    return x


for n in (8, 16, 32, 8, 16):
    scale(torch.randn(2, n))
