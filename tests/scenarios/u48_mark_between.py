import torch


@torch.compile(backend="eager")
def scale(x):
    return x * 2


for width, mark in ((2, True), (3, False), (4, True), (5, False)):
    x = torch.randn(4, width)
    if mark:
        torch._dynamo.maybe_mark_dynamic(x, 0)
    scale(x)
