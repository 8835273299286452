import torch


@torch.compile(backend="eager")
def norm(x):
    return x / x.norm(dim=-1, keepdim=True)


big = torch.randn(6, 40)
for width in (40, 20, 30, 10):
    norm(big[:, width - 10 : width])
    norm(big[:, :10].contiguous())
norm(torch.randn(6, 30)[:, :10])
norm(torch.randn(6, 20)[:, :10])
norm(torch.randn(10, 6).t())
