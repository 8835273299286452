import torch


@torch.compile(backend="eager")
def refine(x, steps):
    for _ in range(steps):
        x = torch.sin(x) + 1
    return x


for steps in (2, 3, 4, 5):
    refine(torch.randn(4), steps)
