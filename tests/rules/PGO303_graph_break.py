import torch


@torch.compile(backend="eager")
def step(x):
    y = x * 2
    print("step", y.shape)
    return (y + 1).cos()


for n in (4, 6, 8):
    step(torch.ones(n, 2))
