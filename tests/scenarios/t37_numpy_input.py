import numpy as np
import torch


@torch.compile(backend="eager")
def f(a, x):
    return np.sum(a * 2.0) + x.sum().numpy()


for n in (4, 6, 9):
    f(np.ones((n, 3)), torch.ones(2))
