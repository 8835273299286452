import torch


@torch.compile(backend="eager", dynamic=True)
def f(src, tgt):
    return src.sum(0) + tgt.sum(0)


for a, b in ((8, 8), (12, 12), (10, 14), (9, 20)):
    f(torch.randn(a, 3), torch.randn(b, 3))
