import torch


@torch.compile(backend="eager")
def ragged(x, sizes):
    return torch.stack([part.mean(0) for part in torch.split(x, sizes)]).sum()


for sizes in ([2, 3], [4, 5], [3, 6, 4], [2, 5, 9]):
    ragged(torch.randn(sum(sizes), 4), sizes)
