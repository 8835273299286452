import torch


@torch.compile(backend="eager")
def encoder(x, mask):
    return x * mask


@torch.compile(backend="eager")
def decoder(x, mask):
    return (x @ mask).sum() if mask.shape[0] == x.shape[1] else x.sum()


for n in (3, 5, 8):
    encoder(torch.randn(n, 4), torch.ones(n, 1))
    decoder(torch.randn(6, 4), torch.ones(4, 4))
