import torch

weights = [torch.nn.Parameter(torch.randn(n, 4)) for n in (6, 8, 10, 12)]


@torch.compile(backend="eager")
def project(x, w):
    return x @ w


for w in weights:
    project(torch.randn(3, w.shape[0]), w)
