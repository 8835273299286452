import torch


@torch.compile(backend="eager")
def f(x, z):
    return x.sum() + z.sum()


for width, length, grad in ((7, 9, True), (10, 3, True), (10, 9, False), (10, 11, False)):
    z = torch.randn(length)
    if length == 9 and grad:
        torch._dynamo.maybe_mark_dynamic(z, 0)
    f(torch.randn(width, requires_grad=grad), z)
