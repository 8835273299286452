import torch


@torch.compile(backend="eager")
def cast(x, dtype, axes):
    return x.to(dtype).sum(axes)


for n in (4, 5, 6):
    cast(torch.randn(n, 3), torch.float32, (0,))
cast(torch.randn(4, 3), torch.bfloat16, (0,))
cast(torch.randn(4, 3), torch.float32, (0, 1))
