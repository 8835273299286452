import torch


@torch.compile(backend="eager")
def mix(a, b):
    return a.sin() + b.cos()


x, y = torch.randn(4, 3), torch.randn(4, 3)
mix(x, y)
mix(x, x)
mix(y, x)
mix(torch.randn(5, 3), torch.randn(5, 3))
z = torch.randn(6, 3)
mix(z, z)
