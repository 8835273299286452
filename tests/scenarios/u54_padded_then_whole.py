import torch


@torch.compile(backend="eager")
def f(x):
    y = x.clone()
    y.add_(1)
    return x.reshape(y.shape) + y


for n in (5, 6):
    f(torch.randn(n, n, 6)[..., :3])
with torch.no_grad():
    f(torch.randn(10, 10, 12))
f(torch.randn(11, 11, 12))
