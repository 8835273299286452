import torch

torch.manual_seed(0)


@torch.compile(backend="eager")
def normalize(x):
    return (x - x.mean(1, keepdim=True)) / x.shape[1]


for n in (7, 13, 22, 5, 40, 31, 13, 9, 77, 6):
    normalize(torch.randn(3, n))
